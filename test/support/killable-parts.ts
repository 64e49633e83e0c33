import { execFileSync } from 'node:child_process';
import { signalIfThere } from '../../src/start/embedded/os-process.js';
import type { Exit, Running } from '../../src/start/embedded/running.js';
import type { Part } from '../../src/start/embedded/supervisor.js';
import { until } from './until.js';

/** Kills parts of an installation, by the ids of their processes, and keeps them away if asked to. */
export interface KillableParts<Name extends string> {
  pidOf(name: Name): number;
  /** kill -9; comes back when the process is gone, with its id. The supervisor starts another one by itself. */
  kill(name: Name): Promise<number>;
  /** kill -9, and no other one until `release`. */
  takeAway(name: Name): Promise<number>;
  release(name: Name): void;
  /** Asks it to end, as a deployment does, and starts no other one; comes back with how it ended. */
  retire(name: Name): Promise<Exit>;
  /** Stops every process of the part, as a machine that swaps or a debugger would; comes back with its id. */
  freeze(name: Name): Promise<number>;
  thaw(name: Name): void;
  /** Comes back when the part runs, as another process than the one given. */
  backFrom(name: Name, killedPid: number, withinMs?: number): Promise<void>;
}

export interface PartsOfInstallation<Name extends string> extends KillableParts<Name> {
  /** The same part, known to us by its process while it runs. */
  killable(name: Name, start: Part['start']): Part;
  allRunning(withinMs: number): Promise<void>;
  /** Nothing that is frozen can be asked to end. */
  thawAll(): void;
}

const BACK_WITHIN_MS = 60_000;

export function createKillableParts<Name extends string>(): PartsOfInstallation<Name> {
  const names = new Set<Name>();
  const running = new Map<Name, Running>();
  const away = new Set<Name>();
  const frozen = new Map<Name, number[]>();

  function killable(name: Name, start: Part['start']): Part {
    names.add(name);
    return {
      name,
      async start(signal) {
        await until(`${name} may come back`, () => !away.has(name) || signal.aborted, Infinity);
        signal.throwIfAborted();
        const process = await start(signal);
        running.set(name, process);
        void process.exited.then(() => running.delete(name));
        return process;
      },
    };
  }

  function pidOf(name: Name): number {
    const process = running.get(name);
    if (!process) throw new Error(`${name} is not running`);
    return process.pid;
  }

  function whenRunning(name: Name): Promise<Running> {
    return until(`${name} runs`, () => running.get(name), BACK_WITHIN_MS);
  }

  /** The parent first, so that it starts no other child meanwhile; it is the last to wake. */
  async function freeze(name: Name): Promise<number> {
    const { pid } = await whenRunning(name);
    signalIfThere(pid, 'SIGSTOP');
    const all = [pid, ...childrenOf(pid)];
    for (const each of all) signalIfThere(each, 'SIGSTOP');
    frozen.set(name, all);
    return pid;
  }

  function thaw(name: Name): void {
    for (const pid of (frozen.get(name) ?? []).toReversed()) signalIfThere(pid, 'SIGCONT');
    frozen.delete(name);
  }

  async function kill(name: Name): Promise<number> {
    const { pid, exited } = await whenRunning(name);
    process.kill(pid, 'SIGKILL');
    await exited;
    return pid;
  }

  function isRunning(name: Name, otherThan?: number): boolean {
    const process = running.get(name);
    return process !== undefined && process.pid !== otherThan;
  }

  return {
    killable,
    pidOf,
    kill,
    takeAway(name) {
      away.add(name);
      return kill(name);
    },
    release: (name) => void away.delete(name),
    async retire(name) {
      const { pid, exited } = await whenRunning(name);
      away.add(name);
      names.delete(name);
      process.kill(pid, 'SIGTERM');
      return exited;
    },
    freeze,
    thaw,
    thawAll: () => [...frozen.keys()].forEach(thaw),
    async backFrom(name, killedPid, withinMs = BACK_WITHIN_MS) {
      await until(`${name} is back`, () => isRunning(name, killedPid), withinMs);
    },
    async allRunning(withinMs) {
      await until('every part runs', () => [...names].every((name) => isRunning(name)), withinMs);
    },
  };
}

/** A Postgres server's sessions are processes, each in a group of its own. Isolated stages are children of their worker. */
export function childrenOf(pid: number): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/).map(Number) as [number, number])
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child);
}
