import { ConfigError, EXIT_CONFIG } from '../../config.js';
import { RefusedError } from './refused-error.js';

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
  try {
    await work(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) process.exit(reportFailure(error));
  }
  process.exit(0);
}

/** Tells the supervisor that this process is ready, and from then on every second that it is there. */
export function sayReady(): void {
  process.send?.({ ready: true });
  const timer = setInterval(() => {
    if (process.connected) process.send?.({ alive: true });
  }, ALIVE_EVERY_MS);
  timer.unref();
}

function reportFailure(error: unknown): number {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  return error instanceof ConfigError || error instanceof RefusedError ? EXIT_CONFIG : 1;
}
