import { text } from 'node:stream/consumers';
import { unavailable } from './git-failure.js';
import { startGit } from './git-process.js';
import { gitEnvironment } from './git-settings.js';

/** The first version that can be tied to checked addresses (http.curloptResolve). An older git would look the name
 *  up again. */
const NEEDED = [2, 37] as const;

/** The folders to search for git, whatever the PATH of this process is. */
export const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';

/** git's own words, such as `git version 2.39.5`. Throws if there is no git, or if it is too old. */
export async function gitVersion(path: string, folder: string): Promise<string> {
  // The command needs no network, so it ends by itself.
  const { signal } = new AbortController();
  const git = startGit({ args: ['version'], env: gitEnvironment(folder, path, 'none'), cwd: folder, signal });
  git.stdin.end();
  const [said, { isDone }] = await Promise.all([text(git.stdout), git.ended]);
  const [, major, minor] = /^git version (\d+)\.(\d+)/.exec(said) ?? [];
  const version = [Number(major), Number(minor)] as const;
  const isNewEnough = version[0] > NEEDED[0] || (version[0] === NEEDED[0] && version[1] >= NEEDED[1]);
  if (isDone && isNewEnough) return said.trim();
  const found = isDone ? `there is ${said.trim()}` : `there is none in ${path}`;
  throw unavailable(`git ${NEEDED.join('.')} or newer is needed on this machine, and ${found}; install it`);
}
