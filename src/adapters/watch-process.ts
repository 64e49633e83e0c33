import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** Often enough that a process can't grow by much more than its bound, seldom enough to cost nothing. */
const EVERY_MS = 100;

/** How the last words of a process begin that has grown too large. */
export const TOO_LARGE = 'took more than';

/** Plain text, not a module: a thread does not take the loader that runs TypeScript in development. */
const WATCH = `
const { writeSync } = require('node:fs');
const { maxBytes, words, parent, everyMs } = require('node:worker_threads').workerData;
setInterval(() => {
  const isTooLarge = process.memoryUsage.rss() > maxBytes;
  if (!isTooLarge && process.ppid === parent) return;
  if (isTooLarge) writeSync(2, words);
  process.kill(process.pid, 'SIGKILL');
}, everyMs);
`;

/** Ends this whole process, native engines included, when it has grown too large or its parent process is gone. A
 *  second thread keeps the watch, because the main thread does nothing else while a native engine runs. */
export function watchProcess(maxBytes: number): void {
  const workerData = { maxBytes, words: lastWords(maxBytes), parent: process.ppid, everyMs: EVERY_MS };
  new Worker(WATCH, { eval: true, workerData }).unref();
}

/** A process that is too large before it has begun must end at once, or its first work would be blamed for its size. */
export function endIfTooLarge(maxBytes: number): void {
  if (process.memoryUsage.rss() <= maxBytes) return;
  writeSync(2, lastWords(maxBytes));
  process.kill(process.pid, 'SIGKILL');
}

function lastWords(maxBytes: number): string {
  return `${TOO_LARGE} ${Math.round(maxBytes / 1_024 ** 2)} MB of memory\n`;
}
