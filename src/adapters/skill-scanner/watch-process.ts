import { Worker } from 'node:worker_threads';

/** Often enough that a process can't grow by much more than its bound, seldom enough to cost nothing. */
const EVERY_MS = 100;

/** How the last words of a process begin that has grown too large. */
export const TOO_LARGE = 'the scan took more than';

/** Plain text, not a module: a thread does not take the loader that runs TypeScript in development. */
const WATCH = `
const { writeSync } = require('node:fs');
const { maxBytes, parent, everyMs } = require('node:worker_threads').workerData;
setInterval(() => {
  const isTooLarge = process.memoryUsage.rss() > maxBytes;
  if (!isTooLarge && process.ppid === parent) return;
  if (isTooLarge) writeSync(2, '${TOO_LARGE} ' + Math.round(maxBytes / 1048576) + ' MB of memory\\n');
  process.kill(process.pid, 'SIGKILL');
}, everyMs);
`;

/** Ends this whole process, native engines and all, when it has grown too large or has lost the one it works for. While a
 *  native engine runs nothing else does on the main thread, so another one keeps the watch. */
export function watchProcess(maxBytes: number): void {
  new Worker(WATCH, { eval: true, workerData: { maxBytes, parent: process.ppid, everyMs: EVERY_MS } }).unref();
}
