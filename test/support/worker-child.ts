import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import type { Pipeline } from '../../src/core/pipeline.js';
import { workflowBundle } from './bundle.js';

export interface ProcessSettings {
  databaseUrl: string;
  /** Where it holds the lock that says it lives. */
  directUrl: string;
  temporalAddress: string;
  table: unknown;
  id: string;
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
export async function startWorkerChild(
  databaseUrl: string,
  table: Pipeline,
  directUrl = databaseUrl,
): Promise<WorkerChild> {
  const id = `child-${randomUUID().slice(0, 8)}`;
  const { codePath } = await workflowBundle();
  const temporalAddress = inject('temporalAddress');
  const settings: ProcessSettings = { databaseUrl, directUrl, temporalAddress, table, id, codePath };
  const script = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, JSON.stringify(settings)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit').then(() => undefined);
  await ready(child);
  function kill(signal: NodeJS.Signals): void {
    child.kill(signal);
  }
  function isFrozen(): boolean {
    return /^State:\s+T/m.test(readFileSync(`/proc/${String(child.pid)}/status`, 'utf8'));
  }
  async function end(): Promise<void> {
    kill('SIGKILL');
    await exited;
  }
  return { id, exited, kill, isFrozen, end };
}

async function ready(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit').then(([code]) => {
    throw new Error(`the worker's process ended before it was ready, with ${String(code)}`);
  });
  gone.catch(() => undefined);
  await Promise.race([once(child, 'message'), gone]);
}
