import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRetentionPage, type Retained } from '../../../src/activities/maintenance/retention.js';
import type { JobCursor } from '../../../src/core/jobs.js';
import type { PageAnswer, PageContext } from '../../../src/ports/job.js';
import { openSpine, type Spine } from '../../support/spine.js';

const PARTS: Retained[] = [
  { part: { name: 'totals', table: 'totals', isOld: 'value <= $1', keptMs: () => 0 }, keptMs: 100 },
  { part: { name: 'torn', table: 'no_such_table', isOld: '$1 > 0', keptMs: () => 0 }, keptMs: 1 },
  { part: { name: 'heavy', table: 'totals', isOld: 'value <= $1', keptMs: () => 0, batchRows: 1 }, keptMs: 200 },
];

let spine: Spine;
beforeAll(async () => {
  spine = await openSpine();
});
afterAll(() => spine.close());
beforeEach(async () => {
  await spine.pool.query('DELETE FROM totals');
});

async function fill(values: readonly number[]): Promise<void> {
  await spine.pool.query(
    `INSERT INTO totals (name, value) SELECT 'row-' || n || '-' || v, v FROM unnest($1::bigint[]) WITH ORDINALITY AS t (v, n)`,
    [values],
  );
}

async function left(): Promise<number> {
  const { rows } = await spine.pool.query<{ count: number }>('SELECT count(*)::int FROM totals');
  return rows[0]?.count ?? 0;
}

function pageOf(context: Partial<PageContext> = {}): PageContext & { beats: number } {
  const page = {
    ...{ input: {}, cursor: null as JobCursor, atMost: null, startedAt: new Date(), beats: 0 },
    deadline: new Date(Date.now() + 3_600_000),
    signal: new AbortController().signal,
    beat: () => void (page.beats += 1),
    ...context,
  };
  return page;
}

function nextOf(answer: PageAnswer): JobCursor {
  if (!('next' in answer)) throw new Error('it was the last page');
  return answer.next;
}

describe('a page of retention', () => {
  it('removes the old rows of every part in batches, and a part that fails keeps no other from it', async () => {
    await fill([...Array<number>(25).fill(50), 150, 150, 999]);
    const page = pageOf();

    const answer = await createRetentionPage(spine.pool, PARTS, 10)(page);

    expect(answer).toMatchObject({ counts: { totals: 25, torn: 0, heavy: 2 }, last: true });
    expect(answer.errors).toEqual([expect.stringMatching(/^torn: .*no_such_table/)]);
    expect(await left()).toBe(1);
    expect(page.beats).toBe(6);
  });

  it('stops at its deadline after one batch, and the next page begins at the part that it had come to', async () => {
    await fill(Array<number>(25).fill(50));
    const run = createRetentionPage(spine.pool, PARTS, 10);

    const startedAt = new Date();
    const late = await run(pageOf({ startedAt, deadline: new Date(0) }));

    expect(late).toMatchObject({ counts: { totals: 10 }, next: { at: 'totals' } });
    const rest = await run(pageOf({ startedAt, cursor: nextOf(late) }));
    expect(rest).toMatchObject({ counts: { totals: 15, heavy: 0 }, last: true });
  });

  it('of the next run begins with the following part and goes round, so that a part without end starves no other', async () => {
    await fill([...Array<number>(25).fill(50), 150]);
    const run = createRetentionPage(spine.pool, PARTS, 10);
    const first = await run(pageOf({ startedAt: new Date(1), deadline: new Date(0) }));

    const second = await run(pageOf({ startedAt: new Date(2), cursor: nextOf(first), deadline: new Date(0) }));
    expect(second).toMatchObject({ counts: { torn: 0, heavy: 1 }, next: { at: 'heavy' } });

    const rest = await run(pageOf({ startedAt: new Date(2), cursor: nextOf(second) }));
    expect(Object.keys(rest.counts)).toEqual(['heavy', 'totals']);
    expect(rest).toMatchObject({ last: true });
    expect(await left()).toBe(0);
  });

  it('begins with the first part where a former version stopped at a part that is gone', async () => {
    await fill([50]);
    const answer = await createRetentionPage(
      spine.pool,
      PARTS,
      10,
    )(pageOf({ cursor: { run: 'before', first: 'totals', at: 'unheard-of' } }));
    expect(answer).toMatchObject({ counts: { totals: 1 }, last: true });
  });

  it('ends when it is aborted', async () => {
    await fill([50]);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(createRetentionPage(spine.pool, PARTS, 10)(pageOf({ signal }))).rejects.toThrow('enough');
  });
});
