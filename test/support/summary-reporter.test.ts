import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const project = mkdtempSync(join(tmpdir(), 'unstuck-summary-'));

beforeAll(() => {
  mkdirSync(join(project, 'test'));
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'));
  for (const file of ['scripts/test.mjs', 'test/support/summary-reporter.ts']) {
    cpSync(join(root, file), join(project, file), { recursive: true });
  }
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

/** Runs scripts/test.mjs over one test file, in a project of its own. */
async function outcomeOf(name: string, text: string): Promise<{ code: number; lines: string[] }> {
  writeFileSync(join(project, `test/${name}.test.ts`), text);
  // Of our own environment only what a program needs to start: vitest's variables would mislead the inner one.
  const options = { cwd: project, env: { PATH: process.env['PATH'] } };
  return new Promise((done) => {
    const command = [join(project, 'scripts/test.mjs'), `test/${name}.test.ts`];
    const child = execFile(process.execPath, command, options, (_error, stdout) => {
      done({ code: child.exitCode ?? -1, lines: stdout.trimEnd().split('\n') });
    });
  });
}

const vitest = `import { afterAll, beforeAll, describe, expect, it } from 'vitest';\n`;

/** Each starts a vitest of its own, which takes many seconds on a busy machine. */
describe('the last line of npm test', { timeout: 120_000 }, () => {
  it('counts what passed, failed and was skipped, after the reasons of the skips', async () => {
    const { code, lines } = await outcomeOf(
      'mixed',
      `${vitest}
      it('passes', () => undefined);
      it('fails', () => expect(1).toBe(2));
      it('skips', ({ skip }) => skip('no GDAL here: install gdal-bin'));
      it.skip('keeps silent', () => undefined);`,
    );
    expect(lines.slice(-5)).toEqual([
      'Skipped:',
      '  test/mixed.test.ts > skips: no GDAL here: install gdal-bin',
      '  test/mixed.test.ts > keeps silent: no reason given',
      '',
      '1 passed, 1 failed, 2 skipped',
    ]);
    expect(code).toBe(1);
  });

  it('is green only with exit code 0', async () => {
    const { code, lines } = await outcomeOf('green', `${vitest} it('passes', () => undefined);`);
    expect(lines.at(-1)).toBe('1 passed, 0 failed, 0 skipped');
    expect(code).toBe(0);
  });

  it.each([
    ['a file that does not load', `import './nowhere.js';`, '0 passed, 1 failed, 0 skipped'],
    ['a file without a test', 'export {};', '0 passed, 1 failed, 0 skipped'],
    ['only skips', `${vitest} it.skip('x', () => undefined);`, '0 passed, 1 failed, 1 skipped'],
    [
      'an error outside any test',
      `${vitest} it('x', () => { void Promise.reject(new Error('stray')); });`,
      '1 passed, 1 failed, 0 skipped',
    ],
    [
      'a hook that fails after its tests',
      `${vitest} describe('x', () => { afterAll(() => { throw new Error('x'); }); it('y', () => undefined); });`,
      '1 passed, 1 failed, 0 skipped',
    ],
    [
      'a process that dies in a test',
      `${vitest} it('x', () => process.kill(process.pid, 'SIGKILL')); it('y', () => undefined);`,
      '0 passed, 3 failed, 0 skipped',
    ],
  ])('shows a failure for %s', async (name, text, last) => {
    const { code, lines } = await outcomeOf(name.replaceAll(' ', '-'), text);
    expect(lines.at(-1)).toBe(last);
    expect(code).not.toBe(0);
  });

  it('says whose fault a test is that never ran', async () => {
    const text = `${vitest} describe('x', () => { beforeAll(() => { throw new Error('x'); }); it('y', () => undefined); });`;
    const { lines } = await outcomeOf('hook', text);
    expect(lines).toContain('  test/hook.test.ts > x > y: a hook before it failed');
    expect(lines.at(-1)).toBe('0 passed, 1 failed, 1 skipped');
  });
});
