import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isAlive } from '../../../scripts/pid-lock.mjs';
import { createProcessNotes } from '../../../src/start/embedded/left-behind.js';
import { tempDir } from '../temp-dir.js';

async function sleeper(): Promise<number> {
  const child = spawn('sleep', ['60']);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child.pid as number;
}

describe('processes of a start whose supervisor was killed', () => {
  it('are ended by the next start', async () => {
    const file = join(tempDir(), 'processes.json');
    const pid = await sleeper();
    createProcessNotes(file).note('api', pid);
    const said: string[] = [];

    expect(await createProcessNotes(file).endLeftBehind((line) => said.push(line))).toEqual([pid]);

    expect(isAlive(pid)).toBe(false);
    expect(said).toEqual([`ending api of an earlier start (pid ${pid})`]);
  });

  it('are told from others that got their pid since', async () => {
    const file = join(tempDir(), 'processes.json');
    const pid = await sleeper();
    writeFileSync(file, JSON.stringify([{ name: 'api', pid, started: 'long ago' }]));

    expect(await createProcessNotes(file).endLeftBehind(() => undefined)).toEqual([pid]);

    expect(isAlive(pid)).toBe(true);
  });

  it('are not said to be gone where nobody can tell', async () => {
    const file = join(tempDir(), 'processes.json');
    writeFileSync(file, JSON.stringify([{ name: 'api', pid: await sleeper() }]));

    expect(await createProcessNotes(file).endLeftBehind(() => undefined)).toEqual([]);
  });

  it('need not be there', async () => {
    const said: string[] = [];

    await createProcessNotes(join(tempDir(), 'processes.json')).endLeftBehind((line) => said.push(line));

    expect(said).toEqual([]);
  });
});
