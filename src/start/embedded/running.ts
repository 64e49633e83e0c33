import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { StartError } from './start-error.js';

export type Log = (line: string) => void;

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process of ours. `exited` settles once, whatever ended the process, and never rejects. */
export interface Running {
  pid: number;
  exited: Promise<Exit>;
  /** Asks it to end, insists after a grace, and resolves when it is gone. */
  stop(): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

export interface StopStep {
  signal: NodeJS.Signals;
  graceMs: number;
}

export interface Spawned extends Running {
  child: ChildProcess;
  /** Its last lines of output, for the sentence that explains why it did not start. */
  lastLines: string[];
}

export interface SpawnRequest {
  command: string;
  args: string[];
  options?: SpawnOptions;
  stopSteps: readonly StopStep[];
  /** The signal that ends it at once. SIGKILL if left out. */
  killSignal?: NodeJS.Signals;
  log: Log;
}

const linesKept = 40; // enough to hold the reason of a failed start

/** Starts a process in a group of its own, so that Ctrl-C in a terminal reaches only the supervisor, which keeps the order. */
export async function spawnRunning(request: SpawnRequest): Promise<Spawned> {
  const { command, args, options, stopSteps, killSignal = 'SIGKILL', log } = request;
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options, detached: true });
  const lastLines: string[] = [];
  for (const output of [child.stdout, child.stderr]) readLines(output, lastLines, log);
  const exited = exitOf(child);
  const pid = await spawnedPid(child);
  const stop = (): Promise<void> => stopInSteps(child, exited, stopSteps);
  const kill = (): void => void child.kill(killSignal);
  return { child, pid, exited, stop, kill, lastLines };
}

export function describeExit({ code, signal }: Exit): string {
  return signal ? `signal ${signal}` : `exit code ${code}`;
}

export interface ReadyCheck {
  name: string;
  /** Looks until it is ready, or until the signal is aborted. */
  check(signal: AbortSignal): Promise<void>;
  /** Gives up when aborted. */
  signal?: AbortSignal | undefined;
}

/** Resolves when the check resolves. Rejects with the process's last output if the process ends first. */
export async function untilReady(server: Spawned, { name, check, signal }: ReadyCheck): Promise<void> {
  const over = new AbortController();
  const gone = server.exited.then((exit) => {
    throw new StartError(
      `cannot start: ${name} stopped while starting (${describeExit(exit)}): ${reasonIn(server.lastLines)}`,
    );
  });
  gone.catch(() => undefined); // its end after it was ready is no failed start
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true, signal: over.signal });
  });
  try {
    signal?.throwIfAborted();
    await Promise.race([check(over.signal), gone, aborted]);
  } catch (error) {
    await server.stop();
    throw error;
  } finally {
    over.abort();
  }
}

export function reasonIn(lines: string[]): string {
  const telling = lines.filter((line) => /\b(fatal|panic|error):/i.test(line));
  return (telling.length > 0 ? telling : lines).slice(-2).join(' / ') || 'it said nothing';
}

/** Waits until the last output was read, but not for long: a child of the process may hold the output open. */
function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      child.once('close', () => resolve({ code, signal }));
      setTimeout(() => resolve({ code, signal }), 250);
    });
  });
}

function readLines(output: Readable | null, lastLines: string[], log: Log): void {
  if (!output) return;
  createInterface({ input: output }).on('line', (line) => {
    lastLines.push(line);
    if (lastLines.length > linesKept) lastLines.shift();
    log(line);
  });
}

async function spawnedPid(child: ChildProcess): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  // A failing kill (the process has just gone) is reported as 'error' too, and must not end us.
  child.on('error', () => undefined);
  return child.pid as number;
}

async function stopInSteps(child: ChildProcess, exited: Promise<Exit>, steps: readonly StopStep[]): Promise<void> {
  for (const { signal, graceMs } of steps) {
    child.kill(signal);
    if (await isSettledWithin(exited, graceMs)) return;
  }
  child.kill('SIGKILL');
  await exited;
}

async function isSettledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const over = new AbortController();
  const late = pause(ms, false, { signal: over.signal });
  late.catch(() => undefined); // aborted below: it was settled in time
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    over.abort();
  }
}
