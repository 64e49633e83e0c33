import { beforeAll, describe, expect, it } from 'vitest';
import { findAggregate } from '../../../../src/domains/submission/db/aggregates.js';
import { listWaitingReviews } from '../../../../src/domains/submission/db/overdue-reviews.js';
import { listStuck } from '../../../../src/db/recovery/stuck.js';
import { scanSubmissions, type SubmissionFilter } from '../../../../src/domains/submission/db/submission-list.js';
import {
  countQueued,
  countShelf,
  findPosition,
  listHolding,
  listQueued,
  QUEUE_CAP,
  readThroughput,
} from '../../../../src/db/reads/queue.js';
import { readHours, readTotals } from '../../../../src/db/reads/pipeline-figures.js';
import { countRoom } from '../../../../src/db/spine/owner-room.js';
import { submission } from '../../../../src/domains/submission/table.js';
import type { Sql } from '../../../../src/ports/sql.js';
import { readsOf } from '../../../support/reads.js';
import { useSpine } from '../../../support/spine.js';

const spine = useSpine();
const FINISHED = 20_000;
const LIVE = 40;

/** Submissions that have ended, a few live ones between them, and as many items of another pipeline. */
beforeAll(async () => {
  await spine.pool.query(
    `WITH item AS (
       INSERT INTO items (id, pipeline, owner, state, started, beat_at, created_at, ended_at, end_reason)
       SELECT gen_random_uuid(), CASE WHEN n % 2 = 0 THEN 'submission' ELSE 'canary' END, 'owner-' || n % 100,
         CASE WHEN n % $2 < 2 THEN CASE WHEN n % 4 < 2 THEN 'NEEDS_REVIEW' ELSE 'TIER1_SCANNING' END ELSE 'REJECTED' END, true,
         now() - interval '9 days', now() - interval '9 days', CASE WHEN n % $2 >= 2 THEN now() END,
         CASE WHEN n % 5000 = 4 THEN 'STUCK_EXHAUSTED' WHEN n % 3 = 0 THEN 'CANCELLED' END
       FROM generate_series(1, 2 * $1::int) n RETURNING *
     ), entry AS (
       INSERT INTO audit (item_id, pipeline, version, visit, epoch, to_state, trigger, actor, actor_type)
       SELECT id, pipeline, 1, 1, 1, state, 'made', 'system', 'system' FROM item
     ), task AS (
       INSERT INTO tasks (item_id, visit, stage, status) SELECT id, 1, 'fetch', 'done' FROM item
     )
     INSERT INTO submissions (id, repo_url, skill_name) SELECT id, 'https://github.com/a/' || id, 'skill' FROM item
     WHERE pipeline = 'submission'`,
    [FINISHED, (2 * FINISHED) / LIVE],
  );
  await spine.pool.query('VACUUM ANALYZE items, audit, tasks, submissions');
});

const PAGE = { sort: 'newest', behind: null, examine: 51, take: 51 } as const;
const ID = '01930000-0000-7000-8000-000000000000';

function list(filter: SubmissionFilter, more: Partial<typeof PAGE> | object = {}): (sql: Sql) => Promise<unknown> {
  return (sql) => scanSubmissions(sql, filter, { ...PAGE, ...more });
}

/** The index entries that each request may read: its answer, the live rows, and the tree pages on the way. */
const REQUESTS: [string, (sql: Sql) => Promise<unknown>, number][] = [
  ['a page of all', list({}), 500],
  ['a page from the other end', list({}, { sort: 'oldest' }), 500],
  ['a page of one state', list({ state: 'REJECTED' }), 500],
  ['a page of one owner', list({ owner: 'owner-4' }), 1_000],
  ['a page of what holds a word', list({ q: 'nothing' }, { examine: 2_000 }), 7_000],
  ['positions', (sql) => listQueued(sql, submission, { owner: null, limit: 100 }), 1_000],
  ['one position', (sql) => findPosition(sql, submission, ID), 500],
  ['how many wait', (sql) => countQueued(sql, submission), 500],
  ['what holds them back', (sql) => listHolding(sql, submission), 500],
  ['room for more of an owner’s', (sql) => countRoom(sql, submission, 'owner-4', 500), 100],
  ['how fast it goes', (sql) => readThroughput(sql, submission), 1_000],
  ['totals', (sql) => readTotals(sql, submission), 100],
  ['hours', (sql) => readHours(sql, submission, 48), 100],
  ['the stuck', (sql) => listStuck(sql, submission, { limit: 51 }), 1_000],
  ['the failed shelf', (sql) => countShelf(sql, submission), 500],
  ['overdue reviews', (sql) => listWaitingReviews(sql, 1_000, 1_000), 1_000],
  ['statistics', (sql) => findAggregate(sql, 'submission-stats'), 100],
];

function reads(work: Parameters<typeof readsOf>[1]) {
  return readsOf(spine, work, ['submissions']);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

describe('a request among thousands of finished submissions', () => {
  it.each(REQUESTS)('reads few of them: %s', async (_, request, most) => {
    const { scanned, found } = await reads(request);
    expect(scanned).toBe(0);
    expect(sum(Object.values(found))).toBeLessThan(most);
  });

  it('reads no more than stand before one in the queue, however many stand behind it', async () => {
    await spine.pool.query(
      `INSERT INTO items (id, pipeline, owner, state, priority)
       SELECT gen_random_uuid(), 'submission', 'many', 'RECEIVED', -10 FROM generate_series(1, 12000)`,
    );
    const first = '00000000-0000-7000-8000-000000000000';
    const last = 'ffffffff-ffff-7fff-8fff-ffffffffffff';
    const behind = 'ffffffff-ffff-7fff-8fff-fffffffffffe';
    await spine.pool.query(
      `INSERT INTO items (id, pipeline, owner, state, priority)
       VALUES ($1, 'submission', 'ada', 'RECEIVED', 0), ($2, 'submission', 'many', 'RECEIVED', -10), ($3, 'submission', 'ada', 'RECEIVED', -10)`,
      [first, last, behind],
    );
    await spine.pool.query('VACUUM ANALYZE items');
    expect(await findPosition(spine.pool, submission, first)).toBe(1);
    expect(await findPosition(spine.pool, submission, last)).toBe(QUEUE_CAP + 1);
    // Its owner's first of the level comes after every owner's first, however many stand there.
    expect(await findPosition(spine.pool, submission, behind)).toBeLessThan(100);
    const { scanned, found } = await reads((sql) => findPosition(sql, submission, first));
    expect(scanned + sum(Object.values(found))).toBeLessThan(500);
    await spine.pool.query(`DELETE FROM items WHERE owner IN ('many', 'ada')`);
  });

  it('would be seen to read them all if the index of what was given up were gone', async () => {
    await spine.pool.query('DROP INDEX items_given_up');
    const { scanned, found } = await reads((sql) => countShelf(sql, submission));
    expect(scanned + sum(Object.values(found))).toBeGreaterThan(FINISHED / 2);
  });
});
