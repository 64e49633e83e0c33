import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { takePidLock } from '../../scripts/pid-lock.mjs';
import { tempDir } from '../start/temp-dir.js';

const script = resolve(import.meta.dirname, '../../scripts/pid-lock.mjs');

/** A process that tries to take the lock, prints its answer and stays. */
async function taker(file: string) {
  const code = `const { takePidLock } = await import(${JSON.stringify(script)});
    console.log(JSON.stringify(takePidLock(process.argv[1]))); setInterval(() => undefined, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code, file]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, answer: JSON.parse(line) as { taken: boolean; pid?: number } };
}

describe('a lock that is a file with a pid', () => {
  it('is held as long as its process lives, and free the moment that it was killed', async () => {
    const file = join(tempDir(), 'lock');
    const { child, answer } = await taker(file);
    expect(answer.taken).toBe(true);
    expect(takePidLock(file)).toEqual({ taken: false, pid: child.pid });

    child.kill('SIGKILL');
    await once(child, 'exit');

    expect(takePidLock(file).taken).toBe(true);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
  });

  it('is taken over by one only, when many find that its process is dead', async () => {
    const file = join(tempDir(), 'lock');
    const { pid } = spawnSync('true');
    writeFileSync(file, JSON.stringify({ pid }));

    const takers = await Promise.all(Array.from({ length: 8 }, () => taker(file)));

    expect(takers.filter(({ answer }) => answer.taken)).toHaveLength(1);
  });

  it('counts as held while its note is being written, and as left behind later', () => {
    const file = join(tempDir(), 'lock');
    writeFileSync(file, '');
    expect(takePidLock(file)).toEqual({ taken: false, pid: undefined });

    utimesSync(file, new Date(0), new Date(0));

    expect(takePidLock(file).taken).toBe(true);
  });

  it('is not blocked for ever by a takeover that crashed', () => {
    const file = join(tempDir(), 'lock');
    const { pid } = spawnSync('true');
    writeFileSync(file, JSON.stringify({ pid }));
    writeFileSync(`${file}.takeover`, JSON.stringify({ pid }));
    utimesSync(`${file}.takeover`, new Date(0), new Date(0));

    expect(takePidLock(file).taken).toBe(false); // clears the way for the next try
    expect(takePidLock(file).taken).toBe(true);
  });
});
