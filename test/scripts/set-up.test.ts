import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempDir } from '../start/temp-dir.js';
import { until } from '../support/until.js';

const scripts = resolve(import.meta.dirname, '../../scripts');

/** A process that sets `root` up with one step of our own. */
function startSetUp(root: string, step: string) {
  const code = `
    import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
    import { setTimeout as pause } from 'node:timers/promises';
    import { setUp } from ${JSON.stringify(join(scripts, 'set-up.mjs'))};
    import { SetupError } from ${JSON.stringify(join(scripts, 'run-command.mjs'))};
    process.exitCode = await setUp(${JSON.stringify(root)}, [${step}]);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { cwd: root });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  let complained = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (complained += chunk));
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, said, complained }));
  return { ended, said: () => said };
}

function setUp(root: string, step: string) {
  return startSetUp(root, step).ended;
}

/** Notes that it ran, and may wait for a word of ours before it is done. */
function making(waits = '') {
  return `{
    title: 'making it',
    isNeeded: ({ root }) => !existsSync(root + '/made'),
    run: async ({ root }) => {
      appendFileSync(root + '/runs', 'x');
      ${waits}
      writeFileSync(root + '/made', '');
    },
  }`;
}

const noted = making();
const held = making(`while (!existsSync(root + '/go-on')) await pause(20);`);

describe('set-up', () => {
  it('does what is needed once, and then nothing', async () => {
    const root = tempDir();

    const first = await setUp(root, noted);
    const second = await setUp(root, noted);

    expect(first.code).toBe(0);
    expect(first.said).toMatch(/^set-up: making it …\nset-up: making it: done/);
    expect(second).toEqual({ code: 0, said: '', complained: '' });
    expect(readFileSync(join(root, 'runs'), 'utf8')).toBe('x');
  });

  it('waits for another one on the same clone, and then finds all done', async () => {
    const root = tempDir();

    const all = Array.from({ length: 3 }, () => startSetUp(root, held));
    await until('one is at work and the others wait', () => {
      const waiting = all.filter(({ said }) => said().includes('another set-up is running here'));
      return waiting.length === 2 && existsSync(join(root, 'runs'));
    });
    writeFileSync(join(root, 'go-on'), '');

    const ends = await Promise.all(all.map(({ ended }) => ended));
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(readFileSync(join(root, 'runs'), 'utf8')).toBe('x');
  });

  it('goes on after one that was killed', async () => {
    const root = tempDir();
    mkdirSync(join(root, '.unstuck'));
    writeFileSync(join(root, '.unstuck', 'setup.lock'), JSON.stringify({ pid: 2_147_483_646 }));

    expect(await setUp(root, noted)).toMatchObject({ code: 0 });
    expect(existsSync(join(root, 'made'))).toBe(true);
  });

  it('ends with one sentence when a step can not be done', async () => {
    const broken = `{ title: 'failing', isNeeded: () => true, run: () => { throw new SetupError('Go is missing. Install it.'); } }`;

    const { code, complained } = await setUp(tempDir(), broken);

    expect(code).toBe(1);
    expect(complained).toBe('cannot set up: Go is missing. Install it.\n');
  });
});
