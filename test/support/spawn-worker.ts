import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Pipeline } from '../../src/core/pipeline.js';

export interface ProcessSettings {
  databaseUrl: string;
  /** Where it holds the lock that says it lives. */
  directUrl: string;
  temporalAddress: string;
  table: Pipeline;
  id: string;
  /** The bundle of the workflow code it runs. */
  codePath: string;
}

export interface WorkerChild {
  id: string;
  /** Resolves when the process is gone, whoever ended it. */
  exited: Promise<void>;
  kill(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** Whether it is stopped, by itself or by us. */
  isFrozen(): boolean;
  /** Ends it at once and waits until it is gone. */
  end(): Promise<void>;
}

/** A worker in a process of its own, to be killed or frozen. */
export async function spawnWorker(told: Omit<ProcessSettings, 'id'>): Promise<WorkerChild> {
  const settings: ProcessSettings = { ...told, id: `child-${randomUUID().slice(0, 8)}` };
  const script = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, JSON.stringify(settings)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit').then(() => undefined);
  await ready(child);
  function kill(signal: NodeJS.Signals): void {
    child.kill(signal);
  }
  async function end(): Promise<void> {
    kill('SIGKILL');
    await exited;
  }
  return { id: settings.id, exited, kill, isFrozen: () => isFrozen(child.pid), end };
}

/** Whether a process is stopped. */
export function isFrozen(pid: number | undefined): boolean {
  return /^State:\s+T/m.test(readFileSync(`/proc/${String(pid)}/status`, 'utf8'));
}

async function ready(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`the worker's process ended before it was ready, with ${String(code)}`);
  });
  gone.catch(() => undefined);
  await Promise.race([once(child, 'message'), gone]);
}
