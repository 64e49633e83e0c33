import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** The newest that `go install` accepts; later ones use a `replace`. */
export const TEMPORAL_VERSION = 'v1.5.1';

const EXECUTABLE = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

/** Where set-up puts it: outside the clone, so that the next clone need not fetch or build it again. */
export function cachedTemporalCli(env = process.env) {
  const cache = env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'unstuck', `temporal-${TEMPORAL_VERSION}`, EXECUTABLE);
}

/** The Temporal CLI that is there already, or undefined. The same order for start, set-up and tests. */
export function locateTemporalCli(env = process.env) {
  const named = env.TEMPORAL_CLI_PATH;
  if (named) {
    if (isExecutable(named)) return named;
    throw new Error(`TEMPORAL_CLI_PATH names ${named}, which is not an executable file. Correct it, or unset it.`);
  }
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  const candidates = [...folders.map((folder) => join(folder, EXECUTABLE)), cachedTemporalCli(env)];
  return candidates.find(isExecutable);
}

export function findTemporalCli(env = process.env) {
  const found = locateTemporalCli(env);
  if (found) return found;
  throw new Error('The Temporal dev server is missing. Run `npm run setup`, which fetches it.');
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // not there, or not for us
  }
}
