import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { StartError } from '../../../../start/embedded/start-error.js';

export interface GitRun {
  folder: string;
  args: readonly string[];
  /** The whole environment of git. Undefined: git inherits the environment of this process. */
  env?: Readonly<Record<string, string>>;
  /** The output may not be longer. Undefined: Node's own limit, a megabyte. */
  maxBytes?: number;
  timeoutMs?: number;
}

/** Thrown when git was stopped by a limit of `GitRun`, so that the caller can name the limit. */
export class GitStopped extends Error {
  override name = 'GitStopped';
}

/** Runs git in a folder and returns its output. Throws a sentence when git is missing or fails. */
export async function runGit({ folder, args, env, maxBytes, timeoutMs }: GitRun): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('git', ['-C', folder, ...args], {
      ...(env && { env }),
      ...(maxBytes !== undefined && { maxBuffer: maxBytes }),
      ...(timeoutMs !== undefined && { timeout: timeoutMs }),
    });
    return stdout;
  } catch (cause) {
    throw failureOf(cause as Failure, folder);
  }
}

interface Failure extends Error {
  code?: string | number;
  killed?: boolean;
  stderr?: string;
}

function failureOf(cause: Failure, folder: string): Error {
  if (cause.code === 'ENOENT') {
    const remedy = 'Install git 2.37 or newer.';
    return new StartError(`submit: there is no git on this machine, and skills are fetched with git. ${remedy}`, {
      cause,
    });
  }
  if (cause.killed || cause.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') {
    return new GitStopped(`git was stopped in ${folder}`, { cause });
  }
  const [reason = 'git gave no reason'] = /^(?:fatal|error): .*$/m.exec(cause.stderr ?? '') ?? [];
  return new StartError(`submit: git can't read ${folder} (${reason}). Run git status there to see why.`, { cause });
}
