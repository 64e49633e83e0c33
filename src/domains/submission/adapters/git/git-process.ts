import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** The largest file that git may write, above all the pack. The folders of the largest repositories fit; an endless
 *  pack does not. */
const MAX_FILE_BYTES = 32 * 1_024 * 1_024;

/** git needs a fifth of it. Only a pack made to blow up, or an endless list of branches, needs more. */
const MAX_MEMORY_BYTES = 512 * 1_024 * 1_024;

/** The part of git's output that is kept. It holds git's reasons and answers, however much a server adds. */
const MAX_SAID_BYTES = 16_384;

/** The kernel enforces the limits on git and on every process that git starts. The reader of file descriptor 3 sees
 *  the end of our process, however it ended, and kills the group, so that no fetch outlives its worker. Not every
 *  system has a limit for memory. At the limit for files git gets an error instead of a signal, because XFSZ is
 *  ignored, and so git can say why it failed. */
const SCRIPT = `
ulimit -c 0
trap '' XFSZ
ulimit -f ${MAX_FILE_BYTES / 512}
ulimit -v ${MAX_MEMORY_BYTES / 1_024} 2>/dev/null
(read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 &
watch=$!
exec 3<&-
"$@"
status=$?
kill -KILL "$watch"
exit "$status"`;

export interface GitCommand {
  args: readonly string[];
  /** The whole environment, because git inherits nothing. */
  env: Readonly<Record<string, string>>;
  cwd: string;
  signal: AbortSignal;
}

export interface GitEnd {
  isDone: boolean;
  /** git's messages, which say why it failed. */
  said: string;
}

export interface GitProcess {
  stdin: Writable;
  stdout: Readable;
  /** Resolves when every process of the group is gone. Rejects only if git could not be started. */
  ended: Promise<GitEnd>;
  end(): void;
}

/** Starts git in a process group of its own. The whole group is killed, because git's children would outlive git. */
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
  // git may end before its children. They would go on, and keep us waiting.
  child.once('exit', () => {
    end();
    isGone = true;
  });
  // git may end before it has read its whole input. Its exit says why.
  child.stdin.on('error', () => undefined);
  const said = keepStart(child.stderr);
  const ended = new Promise<GitEnd>((resolve, reject) => {
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
    // The group is empty, as it should be.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** For a command that reads its input and whose output does not matter. */
export async function feedGit(command: GitCommand, input = ''): Promise<GitEnd> {
  const git = startGit(command);
  git.stdout.resume();
  git.stdin.end(input);
  return await git.ended;
}

/** For a command that prints a few lines. Whatever it prints beyond the limit is dropped. */
export async function questionGit(command: GitCommand): Promise<GitEnd & { printed: string }> {
  const git = startGit(command);
  const printed = keepStart(git.stdout);
  git.stdin.end();
  const end = await git.ended;
  return { ...end, printed: printed() };
}

function keepStart(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (bytes < MAX_SAID_BYTES) chunks.push(chunk.subarray(0, MAX_SAID_BYTES - bytes));
    bytes += chunk.length;
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
