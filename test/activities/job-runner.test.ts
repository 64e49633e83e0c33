import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createPageActivities } from '../../src/activities/job-runner.js';
import { AppError } from '../../src/core/errors.js';
import { emptyRecord, type PageInput } from '../../src/core/jobs.js';
import type { JobPage } from '../../src/ports/job.js';
import { useSpine } from '../support/spine.js';

const spine = useSpine();

const AWAY = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

interface Try {
  error: unknown;
  /** The number of faults that the next try is told. */
  faults: unknown;
}

/** Tries a page of which so many tries have failed before. */
async function tryPage(page: JobPage, faultsBefore: number | undefined, input: Partial<PageInput> = {}): Promise<Try> {
  const environment = new MockActivityEnvironment({ heartbeatDetails: faultsBefore });
  let faults: unknown;
  environment.on('heartbeat', (details: unknown) => {
    faults = details;
  });
  const logger = pino({ level: 'silent' });
  const { runPage } = createPageActivities({ pool: spine.limited, pages: { tried: page }, logger });
  const told: PageInput = {
    ...{ job: 'tried', execution: '0', input: {}, cursor: null, startedAt: new Date().toISOString(), atMost: null },
    ...{ deadline: Date.now() + 60_000, record: emptyRecord() },
    ...input,
  };
  const error = await environment.run(runPage, told).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { error, faults };
}

function isFinal(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.nonRetryable === true;
}

describe('a page that fails', () => {
  it('is tried again until it has failed five times', async () => {
    const fails: JobPage = () => Promise.reject(new Error('the table is gone'));
    const first = await tryPage(fails, undefined);
    expect([isFinal(first.error), first.faults]).toEqual([false, 1]);
    const fifth = await tryPage(fails, 4);
    expect(isFinal(fifth.error)).toBe(true);
    expect(String(fifth.error)).toContain('the table is gone');
  });

  it.each([
    ['the database is away', AWAY],
    ['a server is away', new AppError('source_unavailable', 'github answered 503')],
    ['somebody holds the lock', Object.assign(new Error('lock timeout'), { code: '55P03' })],
  ])('because %s has not failed by itself, however often', async (_, outage) => {
    const { error, faults } = await tryPage(() => Promise.reject(outage), 4);
    expect([error, faults]).toEqual([outage, 4]);
  });

  it('because trying again can’t help is given up at once', async () => {
    const { error } = await tryPage(() => Promise.reject(new AppError('bad_input', 'no such place')), undefined);
    expect(isFinal(error)).toBe(true);
  });

  it('by taking its worker with it counts from its first beat on, and is given up after five workers', async () => {
    let begun = false;
    const kills: JobPage = async () => {
      begun = true;
      return { counts: {}, last: true };
    };
    const { error } = await tryPage(kills, 5);
    expect(begun).toBe(false);
    expect(isFinal(error)).toBe(true);
    expect(await tryPage(kills, 2)).toEqual({ error: null, faults: 3 });
  });
});

describe('the deadline of a page', () => {
  async function deadlineOf(runDeadline: number): Promise<number> {
    let deadline = 0;
    const page: JobPage = async (context) => {
      deadline = context.deadline.getTime();
      return { counts: {}, last: true };
    };
    await tryPage(page, undefined, { deadline: runDeadline });
    return deadline;
  }

  it('is the run’s deadline if that comes before the page’s minute is over, also after a wait in the queue', async () => {
    const soon = Date.now() + 20_000;
    expect(Math.abs((await deadlineOf(soon)) - soon)).toBeLessThan(1_000);
    const before = Date.now();
    const late = await deadlineOf(before - 5_000);
    expect(late).toBeGreaterThanOrEqual(before);
    expect(late).toBeLessThan(before + 5_000);
  });

  it('is a minute from its beginning in a run that has more time', async () => {
    const before = Date.now();
    const deadline = await deadlineOf(before + 3_600_000);
    expect(deadline - before).toBeGreaterThanOrEqual(60_000);
    expect(deadline - before).toBeLessThan(65_000);
  });
});
