import type pg from 'pg';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { createSweep } from '../../../src/activities/maintenance/sweep.js';
import type { Pipeline } from '../../../src/core/pipeline.js';
import type { SweepPage } from '../../../src/core/sweep-page.js';
import { createFakeEngine } from '../../api/fake-engine.js';
import { readsOf } from '../../support/reads.js';
import { useSpine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

const spine = useSpine();
const FINISHED = 5_000;
const LIVE = 50;
const STUCK = 10;

/** Indexes without finished items, and indexes that are searched by the ids of live items. */
const LIVE_ITEMS = ['items_live', 'items_live_by_state', 'items_live_by_id', 'items_held'];
const UNFINISHED = [...LIVE_ITEMS, 'tasks_running'];
const BY_ID = ['items_pkey', 'tasks_pkey'];

/** A long `stuckAfter`, so that items that have just moved are well until the test is over. */
const slow: Pipeline = { ...straight, sweep: { ...straight.sweep, stuckAfter: '30m' } };

/** A hundred finished items between two live ones, all with their tasks and attempts. */
async function fill(): Promise<void> {
  await spine.pool.query(
    `WITH item AS (
       INSERT INTO items (id, pipeline, owner, state, started, beat_at, ended_at)
       SELECT gen_random_uuid(), $1, 'owner-' || n, CASE WHEN n % $4 = 0 THEN 'READING' ELSE 'DONE' END, true,
         CASE WHEN n % ($4 * $3) = 0 OR n % $4 <> 0 THEN now() - interval '1 hour' ELSE now() END,
         CASE WHEN n % $4 <> 0 THEN now() - interval '1 hour' END
       FROM generate_series(1, $2::int) n RETURNING *
     ), task AS (
       INSERT INTO tasks (item_id, visit, stage, status, fence, attempt, started_at, beat_at)
       SELECT id, 1, 'read', CASE WHEN ended_at IS NULL THEN 'running' ELSE 'done' END, 1, 1, beat_at, beat_at FROM item
     )
     INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, result)
     SELECT id, pipeline, 1, 'read', 1, 1, beat_at, 'done' FROM item WHERE ended_at IS NOT NULL`,
    [slow.name, FINISHED + LIVE, LIVE / STUCK, (FINISHED + LIVE) / LIVE],
  );
  await spine.pool.query('ANALYZE');
}

/** A whole sweep by the product's own code. Temporal says that the runs of stuck items are gone and all other runs are
 *  open. */
async function sweeper(): Promise<(pool: pg.Pool) => Promise<SweepPage>> {
  const { rows } = await spine.pool.query<{ id: string }>(
    `SELECT id FROM items WHERE ended_at IS NULL AND beat_at > now() - interval '30 minutes'`,
  );
  const engine = createFakeEngine();
  engine.status = { is: 'gone', how: 'terminated' };
  engine.queueStatus = { pollers: [{ identity: 'stranger', seenAt: new Date() }], backlog: 0, oldestMs: null };
  engine.open = rows.map(({ id }) => ({ pipeline: slow.name, itemId: id, epoch: 1, startedAt: new Date() }));
  const logger = pino({ level: 'silent' });
  return (pool) => {
    const { sweepPage } = createSweep({
      pool,
      engine,
      pipelines: { [slow.name]: slow },
      logger,
      rescuesPerSecond: 100,
    });
    return sweepPage({ pipeline: slow.name, startedAt: new Date().toISOString(), rescuesLeft: 0 });
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

describe('a sweep among thousands of finished items', () => {
  beforeAll(fill);

  it('reads none of them', async () => {
    const sweep = await sweeper();
    let page: SweepPage | undefined;
    const { scanned, found } = await readsOf(spine, async (pool) => {
      page = await sweep(pool);
    });
    expect(page).toMatchObject({ examined: STUCK, reEnqueued: STUCK, isLast: true, errors: [] });
    expect(scanned).toBe(0);
    expect(Object.keys(found).filter((index) => !UNFINISHED.includes(index) && !BY_ID.includes(index))).toEqual([]);
    expect(sum(LIVE_ITEMS.map((index) => found[index] ?? 0))).toBeGreaterThanOrEqual(LIVE);
    expect(sum(BY_ID.map((index) => found[index] ?? 0))).toBeLessThan(FINISHED / 10);
  });

  it('would be seen to read them if the indexes of live ones were gone', async () => {
    await spine.pool.query(`DROP INDEX ${LIVE_ITEMS.join(', ')}, items_dedupe_live`);
    const { scanned } = await readsOf(spine, await sweeper());
    expect(scanned).toBeGreaterThanOrEqual(FINISHED);
  });
});
