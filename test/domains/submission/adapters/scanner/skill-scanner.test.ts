import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isAlive } from '../../../../../scripts/pid-lock.mjs';
import {
  type ClosableSkillScanner,
  createSkillScanner,
  type SkillScannerOptions,
} from '../../../../../src/domains/submission/adapters/scanner/skill-scanner.js';
import { classifyError } from '../../../../../src/core/error-class.js';
import { isRetryable } from '../../../../../src/core/errors.js';
import { until } from '../../../../support/until.js';
import { fileOf, skillOf } from './skill-files.js';

// Each test starts a process or two, which takes seconds on a loaded machine.
vi.setConfig({ testTimeout: 120_000 });

const open: ClosableSkillScanner[] = [];

function scannerOf(options?: SkillScannerOptions): ClosableSkillScanner {
  const scanner = createSkillScanner(options);
  open.push(scanner);
  return scanner;
}

afterEach(() => {
  for (const scanner of open.splice(0)) scanner.close();
});

const never = new AbortController().signal;
const harmless = skillOf('# Sample');

/** Nearly every position begins a match of many patterns, and no match ends, which costs a regex engine seconds. */
const slow = [1, 2, 3, 4].map((number) => fileOf(`${String(number)}.md`, 'never run curl x | bash. '.repeat(3_900)));

/** With a warm process and no scan ahead, a scan is handed to the process before the next turn of the event loop. */
async function begun(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

async function warm(scanner: ClosableSkillScanner): Promise<number> {
  await scanner.scan(harmless, never);
  return scanner.childPid() ?? NaN;
}

async function bytesOf(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout) * 1_024;
}

describe('a scanner in a process of its own', () => {
  it('gives verdict, findings and time, and keeps the process for the next', async () => {
    const scanner = scannerOf();
    const pid = await warm(scanner);
    const results = await Promise.all([scanner.scan(skillOf('rm -rf /'), never), scanner.scan(harmless, never)]);

    expect(results.map(({ verdict }) => verdict)).toEqual(['fail', 'pass']);
    expect(results[0]?.findings).toMatchObject([{ id: 'destruction.wipe', severity: 'critical', line: 6 }]);
    expect(results[0]?.durationMs).toBeGreaterThanOrEqual(0);
    expect(scanner.childPid()).toBe(pid);
  });

  it('is killed and replaced when a hostile file keeps an engine busy past the limit', async () => {
    const scanner = scannerOf({ timeoutMs: 500 });
    const pid = await until('a scan is in time', () => warm(scanner).catch(() => undefined));
    const error: unknown = await scanner.scan(slow, never).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: 'scan_timeout' });
    expect(classifyError(error)).toBe('SCAN_TIMEOUT');
    expect(isRetryable(error)).toBe(true);
    expect(scanner.childPid()).toBeUndefined();
    expect(await until('another scans', () => warm(scanner).catch(() => undefined))).not.toBe(pid);
  });

  it('is replaced when it is killed in the middle, and the next in line is served', async () => {
    const scanner = scannerOf({ timeoutMs: 60_000 });
    const pid = await warm(scanner);
    const scanning = scanner.scan(slow, never).catch((reason: unknown) => reason);
    const waiting = scanner.scan(harmless, never);
    await begun();
    process.kill(pid, 'SIGKILL');

    expect(await scanning).toMatchObject({
      code: 'scan_failed',
      message: expect.stringContaining('SIGKILL') as string,
    });
    expect(await waiting).toMatchObject({ verdict: 'pass' });
    expect(scanner.childPid()).not.toBe(pid);
  });

  it('is replaced when it died while nobody asked', async () => {
    const scanner = scannerOf();
    const pid = await warm(scanner);
    process.kill(pid, 'SIGKILL');
    await until('it is gone', () => scanner.childPid() === undefined);

    expect(await scanner.scan(harmless, never)).toMatchObject({ verdict: 'pass' });
  });

  it('is ended when a skill makes it take more memory than it may, and says so', async () => {
    const warmBytes = await bytesOf(await warm(scannerOf()));
    const scanner = scannerOf({ maxBytes: 2 * warmBytes, timeoutMs: 60_000 });
    await warm(scanner);

    const error: unknown = await scanner
      .scan([fileOf('a.md', 'x'.repeat(2 * warmBytes))], never)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'scan_failed', message: expect.stringContaining('MB of memory') as string });
    // The content is to blame, but another try can help, because the machine may have been short of memory.
    expect(classifyError(error)).toBe('BAD_INPUT');
    expect(isRetryable(error)).toBe(true);
  });

  it('blames no skill for memory that it takes before it has read one', async () => {
    // Less than any Node process takes, so the bound is certainly exceeded.
    const scanner = scannerOf({ maxBytes: 16 * 1_024 ** 2 });

    const error: unknown = await scanner.scan(harmless, never).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'scan_failed',
      message: expect.stringContaining('16 MB of memory') as string,
    });
    expect(classifyError(error)).not.toBe('BAD_INPUT');
  });

  it('is killed when the scan is called off', async () => {
    const scanner = scannerOf({ timeoutMs: 60_000 });
    const pid = await warm(scanner);
    const control = new AbortController();
    const scanning = scanner.scan(slow, control.signal).catch((reason: unknown) => reason);
    const reason = new Error('called off');
    await begun();
    control.abort(reason);

    expect(await scanning).toBe(reason);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(await warm(scanner)).not.toBe(pid);
  });

  it('leaves the process alone when a scan is called off before its turn', async () => {
    const scanner = scannerOf();
    const pid = await warm(scanner);
    const reason = new Error('called off');

    await expect(scanner.scan(harmless, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(scanner.childPid()).toBe(pid);
  });

  it('drops a waiting scan at once when it is called off, and tells the scans behind it', async () => {
    const scanner = scannerOf({ timeoutMs: 60_000 });
    await warm(scanner);
    const [first, second] = [new AbortController(), new AbortController()];
    const heard: number[] = [];
    const scanning = scanner.scan(slow, first.signal).catch((reason: unknown) => reason);
    await begun();
    const leaving = scanner.scan(harmless, second.signal).catch((reason: unknown) => reason);
    const waiting = scanner.scan(harmless, never, (ahead) => heard.push(ahead));
    await until('he waits', () => heard.length > 0);
    const reason = new Error('called off');
    second.abort(reason);

    // The scan ahead is still running, for seconds.
    expect(await leaving).toBe(reason);
    expect(heard).toEqual([2, 1]);
    first.abort(reason);
    expect(await scanning).toBe(reason);
    expect(await waiting).toMatchObject({ verdict: 'pass' });
    expect(heard).toEqual([2, 1, 0]);
  });

  it('neither keeps its parent alive nor outlives it', async () => {
    const script = fileURLToPath(new URL('./scan-and-leave.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script]);

    expect(Number(stdout)).toBeGreaterThan(0);
    await until('it is gone', () => !isAlive(Number(stdout)));
  });
});
