import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** A server that speaks the protocol of S3, for tests alone. */
export const VERSITYGW_VERSION = 'v1.8.0';

const EXECUTABLE = process.platform === 'win32' ? 'versitygw.exe' : 'versitygw';

/** Outside the clone, so that the next clone need not build it again. */
export function cachedVersitygw(env = process.env) {
  const cache = env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'unstuck', `versitygw-${VERSITYGW_VERSION}`, EXECUTABLE);
}

/** The executable that is there already, or undefined. */
export function locateVersitygw(env = process.env) {
  if (env.VERSITYGW_PATH) return env.VERSITYGW_PATH;
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  return [...folders.map((folder) => join(folder, EXECUTABLE)), cachedVersitygw(env)].find(isExecutable);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // not there, or not for us
  }
}
