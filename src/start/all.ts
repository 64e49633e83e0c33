import { ConfigError, EXIT_CONFIG, isBelowNpm } from '../config.js';
import { loadConfig } from './parts/from-domains.js';
import { openDataDir } from './embedded/data-dir.js';
import { startEverything } from './embedded/start-everything.js';
import { StartError } from './embedded/start-error.js';
import { createSupervisor, type Supervisor } from './embedded/supervisor.js';

/** npm passes a terminal's Ctrl-C on to us, who got it already: what comes within this time is the same one. */
const SAME_SIGNAL_MS = 500;

/** How soon we see that npm is gone. */
const PARENT_CHECK_MS = 500;

async function main(): Promise<void> {
  // Whoever read what we say may be gone, as when a terminal closes; that must not end us before the servers are stopped.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
  const supervisor = createSupervisor({ say });
  const stopping = stopOnSignals(supervisor);
  try {
    const config = loadConfig();
    const dataDir = openDataDir(config.dataDir);
    process.once('exit', dataDir.release);
    await startEverything({ config, dataDir, supervisor, say, signal: stopping });
  } catch (error) {
    if (stopping.aborted) return; // what was starting was cut short; the signal's handler ends us
    process.stderr.write(`${sentenceOf(error)}\n`);
    await supervisor.stop();
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1);
  }
}

/** The first signal stops everything in order; a second Ctrl-C or SIGTERM at once. */
function stopOnSignals(supervisor: Supervisor): AbortSignal {
  const stopping = new AbortController();
  let firstAt = 0;
  async function stop(): Promise<void> {
    if (stopping.signal.aborted) return;
    firstAt = Date.now();
    stopping.abort();
    say('stopping (once more to stop at once)');
    await supervisor.stop();
    say('stopped');
    process.exit(0);
  }
  function onSignal(): void {
    if (!stopping.signal.aborted) return void stop();
    if (Date.now() - firstAt < SAME_SIGNAL_MS) return;
    supervisor.kill();
    process.exit(1);
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  process.on('SIGHUP', () => void stop());
  if (isBelowNpm()) whenParentIsGone(() => void stop());
  return stopping.signal;
}

/** A signal to npm ends the shell between it and us and goes no further: without this, everything would stay up unseen. */
function whenParentIsGone(react: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    react();
  }, PARENT_CHECK_MS);
  timer.unref();
}

/** A reason that its reader can act on stands alone; anything else is a fault of ours and shows where. */
function sentenceOf(error: unknown): string {
  if (error instanceof StartError || error instanceof ConfigError) return error.message;
  return `cannot start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
