import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished, vi } from 'vitest';
import { signalIfThere } from '../../src/start/embedded/os-process.js';

const root = resolve(import.meta.dirname, '../..');

/** Processes and servers of their own take seconds to start where others want the cores too. */
vi.setConfig({ testTimeout: 120_000 });

export interface ChildOptions {
  uid?: number;
  gid?: number;
  env?: Record<string, string>;
}

/** Runs a TypeScript file in a process of its own, which is gone when the test is over. */
export function runChild(script: string, args: string[] = [], { env, ...account }: ChildOptions = {}) {
  const child = spawn(process.execPath, ['--import', 'tsx', join(root, script), ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...account,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const lines = createInterface({ input: child.stdout });
  const firstLine = once(lines, 'line').then(([line]) => String(line));
  const exited = once(child, 'close').then(([code]) => code as number | null);

  async function killHard(): Promise<void> {
    child.kill('SIGKILL');
    await exited;
  }

  /** Rejects with all it said when it ends before the first line. */
  async function said(): Promise<string> {
    const early = exited.then((code) => Promise.reject(new Error(`ended with ${code}: ${output}`)));
    early.catch(() => undefined);
    return Promise.race([firstLine, early]);
  }

  return { child, exited, said, killHard, output: () => output };
}

export async function startParent(kind: 'postgres' | 'temporal', options: object, account?: ChildOptions) {
  const parent = runChild('test/start/children/parent.ts', [kind, JSON.stringify(options)], account);
  const server = JSON.parse(await parent.said()) as { serverPid: number; where: string; userId: number };
  onTestFinished(() => signalIfThere(server.serverPid, 'SIGKILL'));
  return { ...parent, ...server };
}
