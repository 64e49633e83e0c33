import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../start/temp-dir.js';

const scripts = resolve(import.meta.dirname, '../../scripts');

/** A process that sets `root` up with one step of our own, which takes a moment and notes that it ran. */
async function setUp(root: string, step: string) {
  const code = `
    import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
    import { setTimeout as pause } from 'node:timers/promises';
    import { setUp } from ${JSON.stringify(join(scripts, 'set-up.mjs'))};
    import { SetupError } from ${JSON.stringify(join(scripts, 'run-command.mjs'))};
    process.exitCode = await setUp(${JSON.stringify(root)}, [${step}]);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { cwd: root });
  const [said, complained] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, said, complained };
}

const noted = `{
  title: 'making it',
  isNeeded: ({ root }) => !existsSync(root + '/made'),
  run: async ({ root }) => {
    appendFileSync(root + '/runs', 'x');
    await pause(300);
    writeFileSync(root + '/made', '');
  },
}`;

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

    const both = await Promise.all([setUp(root, noted), setUp(root, noted), setUp(root, noted)]);

    expect(both.map(({ code }) => code)).toEqual([0, 0, 0]);
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
