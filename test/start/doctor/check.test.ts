import { describe, expect, it } from 'vitest';
import { type Check, type Patient, reportOk, reportProblem, runChecks } from '../../../src/start/doctor/check.js';
import { clockFinding } from '../../../src/start/doctor/clock.js';

/** None of these looks at it. */
const NOBODY = {} as Patient;

function check(name: string, run: Check['run'], needs?: string): Check {
  return { name, run, ...(needs !== undefined && { needs }) };
}

describe('the checks of the doctor', () => {
  it('are made each for itself: one that fails or hangs is a finding, in its place', async () => {
    const checks = [
      check('fails', () => Promise.reject(new Error('no such host'))),
      check('hangs', () => new Promise(() => undefined)),
      check('fine', () => reportOk('all is well')),
    ];

    expect(await runChecks(checks, NOBODY, 20)).toMatchObject([
      { name: 'fails', level: 'problem', says: 'Could not be checked: no such host.' },
      { name: 'hangs', level: 'problem', says: 'Could not be checked: no answer within 20 ms.' },
      { name: 'fine', level: 'ok', says: 'all is well' },
    ]);
  });

  it('are waited for as long as they say themselves', async () => {
    const slow: Check = { ...check('slow', () => new Promise(() => undefined)), limitMs: 10 };

    expect(await runChecks([slow], NOBODY, 60_000)).toMatchObject([
      { level: 'problem', says: 'Could not be checked: no answer within 10 ms.' },
    ]);
  });

  it('are not made where what they need has a problem, and say whose', async () => {
    const checks = [
      check('database', () => reportProblem('It is away.', 'Start it.')),
      check('migrations', () => reportOk('never looked at'), 'database'),
      check('workers', () => reportOk('never looked at'), 'migrations'),
    ];

    expect((await runChecks(checks, NOBODY)).map(({ level, says }) => `${level}: ${says}`)).toEqual([
      'problem: It is away.',
      `warning: Not checked, because 'database' has a problem.`,
      `warning: Not checked, because 'database' has a problem.`,
    ]);
  });
});

describe('clocks', () => {
  it.each([
    ['agree', 1_000, 'ok'],
    ['differ by what is allowed', 3_000, 'ok'],
    ['differ by more', 3_002, 'problem'],
    ['differ by more the other way', -1_002, 'problem'],
  ])('that %s', (_, theirsMs, level) => {
    expect(clockFinding('the database', { beforeMs: 1_000, theirsMs, afterMs: 1_000 }).level).toBe(level);
  });

  it('are not blamed for a slow answer', () => {
    // Read anywhere in these three seconds, it may have been right.
    expect(clockFinding('Temporal', { beforeMs: 0, theirsMs: 4_900, afterMs: 3_000 }).level).toBe('ok');
  });

  it('are said to be ahead or behind', () => {
    const finding = clockFinding('the database', { beforeMs: 10_000, theirsMs: 5_000, afterMs: 10_000 });

    expect(finding.says).toBe('The clock of the database is 5.0 s behind ours.');
  });
});
