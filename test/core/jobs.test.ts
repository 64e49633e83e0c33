import { describe, expect, it } from 'vitest';
import { addPage, allowanceOf, areZero, emptyRecord, jobQueueOf, paceMsOf } from '../../src/core/jobs.js';

const page = { counts: {}, phases: {}, errors: [], costCents: 0, isIdle: true };

describe('the record of a run', () => {
  it('adds up counts, nested counts, phases and cost, page by page', () => {
    const one = { ...page, counts: { seen: 2, by: { a: 1 } }, phases: { asking: 5 }, costCents: 1, isIdle: false };
    const other = { ...page, counts: { seen: 1, by: { a: 1, b: 2 }, late: 1 }, phases: { asking: 2 }, costCents: 0.5 };
    expect([one, other].reduce(addPage, emptyRecord())).toEqual({
      pages: 2,
      counts: { seen: 3, by: { a: 2, b: 2 }, late: 1 },
      phases: { asking: 7 },
      errors: [],
      costCents: 1.5,
      isIdle: false,
    });
  });

  it('keeps no more errors than a reader needs', () => {
    const errors = Array.from({ length: 15 }, (_, n) => `error ${n}`);
    const record = addPage(addPage(emptyRecord(), { ...page, errors }), { ...page, errors });
    expect(record.errors).toHaveLength(20);
  });

  it.each([
    [{}, true],
    [{ a: 0, b: { c: 0 } }, true],
    [{ a: 0, b: { c: 1 } }, false],
    [{ a: 1 }, false],
  ])('knows whether %j is nothing', (counts, isNothing) => {
    expect(areZero(counts)).toBe(isNothing);
  });
});

describe('the pace of a job', () => {
  it.each([
    [undefined, null],
    [10, 100],
    [0.01, 1],
  ])('of %s a second lets a page do %s things', (perSecond, atMost) => {
    expect(allowanceOf(perSecond)).toBe(atMost);
  });

  it.each([
    [undefined, 50, 0],
    [10, 50, 5_000],
    [0.5, 1, 2_000],
  ])('of %s a second is kept by waiting after %s things for %s ms', (perSecond, done, waitMs) => {
    expect(paceMsOf(perSecond, done)).toBe(waitMs);
  });
});

describe('the queue of a job', () => {
  it('is its own where the job names one, and apart from the queues of pipelines', () => {
    expect([jobQueueOf({}), jobQueueOf({ queue: 'canary' })]).toEqual(['jobs', 'jobs-canary']);
  });
});
