import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** Often enough that a process can't grow by much more than its bound, seldom enough to cost nothing. */
const EVERY_MS = 100;

/** How the last words of a process begin that has grown too large. */
export const TOO_LARGE = 'the scan took more than';

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

/** Ends this whole process, native engines and all, when it has grown too large or has lost the one it works for. While a
 *  native engine runs nothing else does on the main thread, so another one keeps the watch. */
export function watchProcess(maxBytes: number): void {
  const workerData = { maxBytes, words: lastWords(maxBytes), parent: process.ppid, everyMs: EVERY_MS };
  new Worker(WATCH, { eval: true, workerData }).unref();
}

/** One that is too large before it has read anything would blame the first skill for it. */
export function endIfTooLarge(maxBytes: number): void {
  if (process.memoryUsage.rss() <= maxBytes) return;
  writeSync(2, lastWords(maxBytes));
  process.kill(process.pid, 'SIGKILL');
}

function lastWords(maxBytes: number): string {
  return `${TOO_LARGE} ${String(Math.round(maxBytes / 1_024 ** 2))} MB of memory\n`;
}
