import { ConfigError, EXIT_CONFIG } from '../../config.js';

/** How often the supervisor is told that this process is there. */
const ALIVE_EVERY_MS = 1_000;

/** Runs a process's work to its end. SIGINT, SIGTERM and a closed channel to the supervisor ask it to stop; a failure is one
 *  sentence on standard error and an exit code that says whether starting again could help. */
export async function runProcess(work: (stop: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  for (const event of ['SIGINT', 'SIGTERM', 'disconnect'] as const) {
    process.once(event, () => {
      stop.abort();
    });
  }
  const alive = setInterval(() => {
    if (process.connected) process.send?.({ alive: true });
  }, ALIVE_EVERY_MS);
  alive.unref();
  try {
    await work(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) process.exit(reportFailure(error));
  }
  process.exit(0);
}

function reportFailure(error: unknown): number {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  return error instanceof ConfigError ? EXIT_CONFIG : 1;
}
