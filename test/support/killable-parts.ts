import type { Exit, Running } from '../../src/start/running.js';
import type { Part } from '../../src/start/supervisor.js';
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
  /** Comes back when the part runs, as another process than the one given. */
  backFrom(name: Name, killedPid: number, withinMs?: number): Promise<void>;
}

export interface PartsOfInstallation<Name extends string> extends KillableParts<Name> {
  /** The same part, known to us by its process while it runs. */
  killable(name: Name, start: Part['start']): Part;
  allRunning(withinMs: number): Promise<void>;
}

const BACK_WITHIN_MS = 60_000;

export function createKillableParts<Name extends string>(): PartsOfInstallation<Name> {
  const names = new Set<Name>();
  const running = new Map<Name, Running>();
  const away = new Set<Name>();

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

  async function kill(name: Name): Promise<number> {
    const { pid, exited } = await until(`${name} runs`, () => running.get(name), BACK_WITHIN_MS);
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
      const { pid, exited } = await until(`${name} runs`, () => running.get(name), BACK_WITHIN_MS);
      away.add(name);
      names.delete(name);
      process.kill(pid, 'SIGTERM');
      return exited;
    },
    async backFrom(name, killedPid, withinMs = BACK_WITHIN_MS) {
      await until(`${name} is back`, () => isRunning(name, killedPid), withinMs);
    },
    async allRunning(withinMs) {
      await until('every part runs', () => [...names].every((name) => isRunning(name)), withinMs);
    },
  };
}
