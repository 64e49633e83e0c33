import { spawn } from 'node:child_process';
import { clearInterval, setInterval } from 'node:timers';

/** A reason that its reader can act on: printed as one sentence, without a stack. */
export class SetupError extends Error {}

/** A sign of life for steps that say nothing for minutes. */
const SAY_EVERY_MS = 15_000;

/** Runs a command to its end; says that it still runs now and then. Resolves to exit code and output. */
export async function runCommand(command, args, { context, title, env, timeoutMs }) {
  const began = Date.now();
  // Ended together with us: a compiler must not go on by itself for minutes. Listening begins before the command does, or a
  // signal in between would end us and leave it behind.
  let interruptedBy;
  const passOn = (signal) => {
    interruptedBy = signal;
    child.kill(signal);
  };
  process.on('SIGINT', passOn).on('SIGTERM', passOn);
  const child = spawn(command, args, { cwd: context.root, env: { ...context.env, ...env }, timeout: timeoutMs ?? 0 });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ticker = setInterval(
    () => context.say(`${title}: ${Math.round((Date.now() - began) / 1000)} s so far`),
    SAY_EVERY_MS,
  );
  const ended = await new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, output: error.message }));
    child.once('close', (code) => resolve({ code, output }));
  });
  clearInterval(ticker);
  process.off('SIGINT', passOn).off('SIGTERM', passOn);
  if (interruptedBy) throw new SetupError(`stopped by ${interruptedBy}.`);
  return ended;
}

/** As runCommand, and a failure ends set-up: its output is shown, then the remedy as the last sentence. */
export async function mustRun(command, args, options) {
  const { code, output } = await runCommand(command, args, options);
  if (code === 0) return;
  console.error(lastLines(output));
  throw new SetupError(options.remedy);
}

export function lastLines(output, count = 30) {
  return output.trimEnd().split('\n').slice(-count).join('\n');
}
