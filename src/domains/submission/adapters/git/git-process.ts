import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** A file that git writes (the pack, above all) may grow to this: the folders of the largest repositories fit, an endless pack does not. */
const MAX_FILE_BYTES = 32 * 1_024 * 1_024;

/** git gets by with a fifth of it. What needs more is a pack made to be blown up, or an endless list of branches. */
const MAX_MEMORY_BYTES = 512 * 1_024 * 1_024;

/** Of what git says no more is kept: enough for its reasons, whatever a server adds. */
const MAX_SAID_BYTES = 16_384;

/** The kernel keeps the limits, for git and all that it starts. The reader of 3 sees the end of our process, however it ended,
 *  and takes the group with it, so that no fetch goes on for nobody. Not every system knows a limit for memory. At the one for files git is told, not killed, and says why. */
const SCRIPT = `
ulimit -c 0
trap '' XFSZ
ulimit -f ${String(MAX_FILE_BYTES / 512)}
ulimit -v ${String(MAX_MEMORY_BYTES / 1_024)} 2>/dev/null
(read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 &
watch=$!
exec 3<&-
"$@"
status=$?
kill -KILL "$watch"
exit "$status"`;

export interface GitCommand {
  args: readonly string[];
  /** All of it: nothing is inherited. */
  env: Readonly<Record<string, string>>;
  cwd: string;
  signal: AbortSignal;
}

export interface Ended {
  isDone: boolean;
  /** Why not, in git's words. */
  said: string;
}

export interface GitProcess {
  stdin: Writable;
  stdout: Readable;
  /** Resolves when every process of it is gone; rejects only if git could not be started. */
  ended: Promise<Ended>;
  end(): void;
}

/** In a group of its own, which is killed whole: git works through children that would outlive it. */
export function startGit({ args, env, cwd, signal }: GitCommand): GitProcess {
  signal.throwIfAborted();
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', 'git', ...args], {
    cwd,
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable, Readable, Readable>;
  let isGone = false;
  function end(): void {
    if (child.pid !== undefined && !isGone) killGroup(child.pid);
  }
  signal.addEventListener('abort', end);
  // git may give up before those that work for it: they would go on, and keep us waiting.
  child.once('exit', () => {
    end();
    isGone = true;
  });
  // It may be gone before it has read all that it was asked; how it ended says why.
  child.stdin.on('error', () => undefined);
  const said = startOf(child.stderr);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ isDone: code === 0, said: said() });
    });
  }).finally(() => {
    signal.removeEventListener('abort', end);
  });
  return { stdin: child.stdin, stdout: child.stdout, ended, end };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // Nobody is left in it, as it should be.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** For a command that is asked something on its input and whose output does not matter. */
export async function runGit(command: GitCommand, input = ''): Promise<Ended> {
  const git = startGit(command);
  git.stdout.resume();
  git.stdin.end(input);
  return await git.ended;
}

function startOf(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (bytes < MAX_SAID_BYTES) chunks.push(chunk.subarray(0, MAX_SAID_BYTES - bytes));
    bytes += chunk.length;
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
