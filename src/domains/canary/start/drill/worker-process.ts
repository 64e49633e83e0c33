import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { commandLineOf, signalIfThere } from '../../../../start/embedded/os-process.js';
import { StartError } from '../../../../start/embedded/start-error.js';

/** Whether the pid is a worker of Unstuck. A pid from a table may belong to another process by now, which must not be
 *  killed. */
export function isWorkerProcess(pid: number): boolean {
  return /\bnode\b.*[\\/]start[\\/]worker\.[jt]s/.test(commandLineOf(pid));
}

/** Whether the process is stopped by a signal. */
export function isFrozen(pid: number): boolean {
  return stateOf(pid).startsWith('T');
}

/** Sends the signal, after checking once more that the pid is a worker. */
export function strike(pid: number, signal: NodeJS.Signals): void {
  if (!isWorkerProcess(pid)) throw new StartError(`drill: pid ${pid} is no worker process any more. Run it again.`);
  try {
    process.kill(pid, signal);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new StartError(
      `drill: the worker with pid ${pid} can't be signalled (${code}). Run the drill as the user who started it.`,
      { cause },
    );
  }
}

/** Wakes the frozen workers among these pids and leaves other processes alone. */
export function wake(pids: Iterable<number>): void {
  for (const pid of pids) if (isFrozen(pid) && isWorkerProcess(pid)) signalIfThere(pid, 'SIGCONT');
}

/** How long the guard wakes the workers. A canary may freeze its worker some time after the drill was killed. */
const GUARD_SECONDS = 120;

/** Starts a guard process that wakes these workers if the drill ends before `release`, even by kill -9, because the
 *  guard then sees its input close. The guard has a process group of its own, so that Ctrl-C does not end it with the
 *  drill. */
export function guard(pids: readonly number[]): { release(): void } {
  const wakeAll = 'found=; for pid; do kill -CONT "$pid" && found=1; done; [ "$found" ] || exit 0';
  const script = `cat; n=0; while [ $n -lt ${GUARD_SECONDS} ]; do ${wakeAll}; sleep 1; n=$((n+1)); done`;
  const child = spawn('sh', ['-c', script, 'guard', ...pids.map(String)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  child.unref();
  return {
    release() {
      child.kill('SIGKILL');
      child.stdin.end();
    },
  };
}

function stateOf(pid: number): string {
  try {
    if (process.platform !== 'linux')
      return execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' });
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The state follows the last bracket, because the command's name may hold spaces and brackets.
    return stat.slice(stat.lastIndexOf(')') + 2);
  } catch {
    return ''; // gone
  }
}
