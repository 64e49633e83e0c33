import { setTimeout as pause } from 'node:timers/promises';
import { describeExit, type Log, type Running } from './running.js';
import { StartError } from './start-error.js';

/** A process that is kept running. `start` resolves when it is ready. A StartError of the very first start is final, and any
 *  other failure is tried again. When the signal is aborted, `start` ends the process and rejects. */
export interface Part {
  name: string;
  start(signal: AbortSignal): Promise<Running>;
}

export interface Supervisor {
  /** Starts the parts side by side, after the parts of earlier calls. Resolves when each part was ready once. */
  start(group: Part[]): Promise<void>;
  /** Stops the groups, last started first, and resolves when every process is gone. */
  stop(): Promise<void>;
  /** Ends every process at once. */
  kill(): void;
}

export interface SupervisorOptions {
  say: Log;
  /** A part that ended restarts after `firstMs`, doubling up to `maxMs`. After running for `resetMs` it starts at `firstMs`
   *  again. */
  backoff?: { firstMs: number; maxMs: number; resetMs: number };
}

/** 0.2 s: a killed worker should be back before its tasks are given away; 5 s: a part that can't start must not burn a core. */
const BACKOFF = { firstMs: 200, maxMs: 5_000, resetMs: 30_000 };

export function createSupervisor({ say, backoff = BACKOFF }: SupervisorOptions): Supervisor {
  const groups: Part[][] = [];
  const running = new Map<Part, Running>();
  const loops: Promise<void>[] = [];
  // Each part has its own controller: Node reports a signal with many listeners as a leak, and that would hide a real leak.
  const stops: AbortController[] = [];
  let isStopping = false;

  async function start(group: Part[]): Promise<void> {
    groups.push(group);
    await Promise.all(group.map(startFirst));
  }

  function startFirst(part: Part): Promise<void> {
    return new Promise((ready, failed) => {
      const stopping = new AbortController();
      if (isStopping) stopping.abort();
      stops.push(stopping);
      loops.push(keepRunning(part, stopping.signal, ready).catch(failed));
    });
  }

  async function keepRunning(part: Part, signal: AbortSignal, ready: () => void): Promise<void> {
    let wasReady = false;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const began = Date.now();
      const ended = await runOnce(part, signal, () => {
        wasReady = true;
        ready();
      });
      signal.throwIfAborted();
      if (ended instanceof StartError && !wasReady) throw ended;
      if (Date.now() - began > backoff.resetMs) failures = 0;
      const waitMs = Math.min(backoff.firstMs * 2 ** failures, backoff.maxMs);
      say(
        `${part.name} ${ended instanceof Error ? `did not start (${ended.message})` : ended}; starting it again in ${waitMs / 1000} s`,
      );
      await pause(waitMs, undefined, { signal });
    }
    signal.throwIfAborted();
  }

  /** Resolves when the part has ended, with the way it ended. */
  async function runOnce(part: Part, signal: AbortSignal, ready: () => void): Promise<string | Error> {
    try {
      const process = await part.start(signal);
      running.set(part, process);
      ready();
      if (signal.aborted) await process.stop(); // it became ready while everything was stopping
      const exit = await process.exited;
      running.delete(part);
      return `ended (${describeExit(exit)})`;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  function abortAll(): void {
    isStopping = true;
    for (const each of stops) each.abort();
  }

  async function stop(): Promise<void> {
    abortAll();
    for (const group of groups.toReversed()) await Promise.all(group.map(async (part) => running.get(part)?.stop()));
    await Promise.all(loops);
  }

  function kill(): void {
    abortAll();
    for (const process of running.values()) process.kill();
  }

  return { start, stop, kill };
}
