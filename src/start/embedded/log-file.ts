import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from './running.js';

/** Two files of this size for each process are kept: days of normal running, and never a full disk. */
const MAX_BYTES = 10 * 1024 * 1024;

/** Appends lines to `<folder>/<name>.log`; the file moves to `.log.1` when it gets too large. */
export function openLog(folder: string, name: string): Log {
  const file = join(folder, `${name}.log`);
  let fd = openSync(file, 'a', 0o600);
  let size = fstatSync(fd).size;
  function write(line: string): void {
    if (size > MAX_BYTES) {
      renameSync(file, `${file}.1`);
      const next = openSync(file, 'a', 0o600);
      closeSync(fd);
      fd = next;
      size = 0;
    }
    size += writeSync(fd, `${line}\n`);
  }
  return (line) => {
    try {
      write(line);
    } catch {
      // A full disk costs lines of a log, not the supervisor and everything it keeps running.
    }
  };
}
