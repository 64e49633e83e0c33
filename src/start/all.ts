import { ConfigError, EXIT_CONFIG, isBelowNpm } from '../config.js';
import { closingSentenceOf } from './parts/closing-sentence.js';
import { loadConfig } from './parts/from-domains.js';
import { openDataDir } from './embedded/data-dir.js';
import { startEverything } from './embedded/start-everything.js';
import { createSupervisor, type Supervisor } from './embedded/supervisor.js';

/** Ctrl-C reaches this process directly and again through npm. A second signal within this time is the same Ctrl-C. */
const SAME_SIGNAL_MS = 500;

/** How often this process looks whether npm is gone. */
const PARENT_CHECK_MS = 500;

async function main(): Promise<void> {
  // A closed terminal must not end this process before the servers are stopped.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
  const supervisor = createSupervisor({ say });
  const stopping = stopOnSignals(supervisor);
  try {
    const config = loadConfig();
    const dataDir = openDataDir(config.dataDir);
    process.once('exit', dataDir.release);
    await startEverything({ config, dataDir, supervisor, say, signal: stopping });
  } catch (error) {
    if (stopping.aborted) return; // the signal cut the start short, and its handler ends this process
    process.stderr.write(`${closingSentenceOf(error, 'cannot start')}\n`);
    await supervisor.stop();
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1);
  }
}

/** The first signal stops everything in order. A second Ctrl-C or SIGTERM kills everything at once. */
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

/** A signal to npm kills the shell between npm and this process, and this process gets none. Without this check it
 *  would run on unseen. */
function whenParentIsGone(react: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    react();
  }, PARENT_CHECK_MS);
  timer.unref();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
