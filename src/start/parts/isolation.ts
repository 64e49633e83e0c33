import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { IsolatedProcess, IsolatedWork, Isolation, Report, StopWhy } from '../../activities/isolation.js';
import { messageOf } from '../../core/errors.js';
import { TOO_LARGE } from '../../adapters/watch-process.js';
import { childEnvironment, type Config } from '../../config.js';
import { listVariableNames } from './from-domains.js';

/** The messages to the process of an isolated stage. */
export type Order = { work: IsolatedWork; databaseUrl: string } | { stop: StopWhy };

/** What the process says before it can be given its work. */
interface Ready {
  said: 'ready';
}

/** The last words of a process arrive with its end, or at once after it. A program that the stage had started may keep the stream open
 *  for longer. */
const LAST_WORDS_MS = 200;

/** Starts a process for each stage that must run alone: a child of this worker with the worker's own settings. */
export function createIsolation({ worker }: Pick<Config, 'worker'>, databaseUrl: string): Isolation {
  const environment = ownEnvironment();
  return {
    places: worker.isolatedStages,
    start: (work) => startProcess({ work, databaseUrl }, worker.isolatedBytes, environment),
  };
}

/** The settings as this worker read them at its start. An empty value counts as not set, so that an .env which has changed since then
 *  adds nothing. */
function ownEnvironment(): Record<string, string> {
  return { ...Object.fromEntries(listVariableNames().map((name) => [name, ''])), ...childEnvironment({}) };
}

function startProcess(order: Order, maxBytes: number, env: Record<string, string>): IsolatedProcess {
  const extension = extname(import.meta.filename);
  const script = fileURLToPath(new URL(`../isolated${extension}`, import.meta.url));
  const child = forkOrSay(script, {
    args: [String(maxBytes)],
    env,
    execArgv: extension === '.ts' ? ['--import', 'tsx'] : ['--enable-source-maps'],
  });
  if (typeof child === 'string') return unstarted(child);
  let listen: (report: Report) => void = () => undefined;
  child.on('message', (message) => {
    const report = message as Report | Ready;
    if (report.said === 'ready') send(child, order);
    else listen(report);
  });
  return {
    onReport(listener) {
      listen = listener;
    },
    askToStop: (why) => send(child, { stop: why }),
    kill: () => void child.kill('SIGKILL'),
    ended: endOf(child),
  };
}

/** Some errors of the system are events of the process, and others, such as a lack of memory, are thrown. */
function forkOrSay(
  script: string,
  { args, env, execArgv }: { args: string[]; env: Record<string, string>; execArgv: string[] },
): ChildProcess | string {
  try {
    return fork(script, args, {
      ...{ env, execArgv, serialization: 'advanced' },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
  } catch (error) {
    return notStarted(error);
  }
}

function unstarted(how: string): IsolatedProcess {
  const ignore = (): void => undefined;
  return { onReport: ignore, askToStop: ignore, kill: ignore, ended: Promise.resolve(how) };
}

function notStarted(error: unknown): string {
  return `could not be started (${messageOf(error)})`;
}

/** Sending to a process that is gone fails. Its end tells us, so the error here is ignored. */
function send(child: ChildProcess, order: Order): void {
  if (child.connected) child.send(order, () => undefined);
}

async function endOf(child: ChildProcess): Promise<string> {
  let lastWords = '';
  child.stderr?.setEncoding('utf8').on('data', (words: string) => {
    process.stderr.write(words);
    lastWords = (lastWords + words).slice(-500);
  });
  const closed = once(child, 'close').catch(() => undefined);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    await Promise.race([closed, delay(LAST_WORDS_MS)]);
    const tooLarge = lastWords.split('\n').find((line) => line.startsWith(TOO_LARGE));
    return tooLarge ?? (signal === null ? `ended with code ${String(code)}` : `was ended by ${signal}`);
  } catch (error) {
    return notStarted(error);
  }
}
