import { accessSync, constants, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { takePidLock } from '../../../scripts/pid-lock.mjs';
import { StartError } from './start-error.js';

export interface DataDir {
  path: string;
  logs: string;
  release(): void;
}

/** Makes the folder where it is missing and takes it for this process; a lock that a crash left behind is taken over. */
export function openDataDir(path: string): DataDir {
  const logs = join(path, 'logs');
  try {
    mkdirSync(logs, { recursive: true, mode: 0o700 });
    accessSync(path, constants.W_OK);
  } catch (cause) {
    throw new StartError(
      `cannot start: the data folder ${path} can't be written (${(cause as NodeJS.ErrnoException).code}). ` +
        'Give it to the user who starts, or set DATA_DIR to another folder.',
      { cause },
    );
  }
  const lock = takePidLock(join(path, 'lock'));
  if (lock.taken) return { path, logs, release: lock.release };
  throw new StartError(
    `cannot start: ${path} is in use by another instance (pid ${lock.pid ?? 'unknown'}). ` +
      'Stop that one, or set DATA_DIR to another folder.',
  );
}
