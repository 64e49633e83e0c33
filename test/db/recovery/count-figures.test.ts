import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BUCKET_BOUNDS_MS } from '../../../src/core/figures.js';
import { listTotalFigures } from '../../../src/db/reads/figure-list.js';
import { countFigures } from '../../../src/db/recovery/count-figures.js';
import { exhaustItem } from '../../../src/db/recovery/give-up.js';
import { cancelItem, pauseItem } from '../../../src/db/spine/control.js';
import { SYSTEM } from '../../../src/db/spine/transition.js';
import { COUNTING, countAll, figureLines, figuresOf } from '../../support/figures.js';
import { itemOf } from '../../support/facts.js';
import { readsOf } from '../../support/reads.js';
import { byHand, FAILURE, findIn, openSpine, ROOT, type Spine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';
import { until } from '../../support/until.js';

const parts = { ...COUNTING, pipelines: { straight } };

let spine: Spine;
/** Sessions of a test, which end with it. */
const sessions: pg.PoolClient[] = [];
beforeEach(async () => {
  spine = await openSpine();
});
afterEach(async () => {
  for (const session of sessions.splice(0)) session.release(true);
  await spine.close();
});

interface Ended {
  tookMs?: number;
  hoursAgo?: number;
  result?: string;
  errorClass?: string | null;
}

const ATTEMPT = `INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, ended_at, result, error_class)
  VALUES ($1, 'straight', 1, 'read', 1, 1, $2::timestamptz - $3 * interval '1 millisecond', $2, $4, $5)`;

async function endAttempt(sql: pg.Pool | pg.PoolClient, ended: Ended = {}): Promise<void> {
  const { tookMs = 1, hoursAgo = 0, result = 'done', errorClass = null } = ended;
  const at = new Date(Date.now() - hoursAgo * 3_600_000);
  await sql.query(ATTEMPT, [randomUUID(), at, tookMs, result, errorClass]);
}

async function connect(): Promise<pg.PoolClient> {
  const session = await spine.pool.connect();
  sessions.push(session);
  return session;
}

async function countOf(kind: string): Promise<number> {
  const figures = await figuresOf(spine.pool, 'straight');
  return figures.filter((each) => each.kind === kind).reduce((sum, { count }) => sum + count, 0);
}

describe('attempts', () => {
  it('are counted by stage, outcome and class: what is not done by how it ended, a crash apart from timeouts', async () => {
    const hand = byHand(spine.pool, straight);
    await hand.walk(await hand.make(), 'read', 'check:good', 'write');
    await hand.walk(await hand.make(), 'read:empty');
    const failing = await hand.make();
    await hand.commit(await hand.claimed(failing), { is: 'error', error: FAILURE, retryInMs: 0 });
    const crashing = await hand.make();
    await hand.claimed(crashing);
    await hand.claimed(crashing, { worker: 'worker-b' });
    // A worker of an older version records a crash so.
    await endAttempt(spine.pool, { result: 'crash', errorClass: 'SCAN_TIMEOUT' });

    await countAll(spine.limited, parts);

    const lines = [
      'check good 1',
      'read crash WORKER_CRASH 2',
      'read done 1',
      'read empty 1',
      'read error NETWORK_ERROR 1',
      'write done 1',
    ];
    for (const span of ['total', 'day', 'hour'])
      expect(await figureLines(spine.pool, 'straight', 'attempt', span)).toEqual(lines);
  });

  it('add their durations to the buckets, where a bound belongs to the bucket below it', async () => {
    for (const tookMs of [0, 5, 6, 500, 86_400_001]) await endAttempt(spine.pool, { tookMs });
    await countAll(spine.limited, parts);
    await endAttempt(spine.pool, { tookMs: 500 });
    await countAll(spine.limited, parts);

    const [figure] = await listTotalFigures(spine.pool, ['straight']);
    expect(figure).toMatchObject({ count: 6, sumMs: 86_401_012 });
    const within = [...BUCKET_BOUNDS_MS, Infinity].map((bound, n) => [bound, figure?.buckets[n]]);
    expect(within.filter(([, count]) => count !== 0)).toEqual([
      [5, 2],
      [10, 1],
      [500, 2],
      [Infinity, 1],
    ]);
  });

  it('of a transaction that commits late are counted once, and so are those that committed before it', async () => {
    const late = await connect();
    await late.query('BEGIN');
    await endAttempt(late);
    await endAttempt(spine.pool);

    for (let n = 0; n < 3; n += 1) expect(await countFigures(spine.limited, 'attempts', parts)).toBe('all');
    expect(await countOf('attempt')).toBe(0);

    await late.query('COMMIT');
    await endAttempt(spine.pool);
    await countAll(spine.limited, parts);
    await countAll(spine.limited, parts);
    expect(await countOf('attempt')).toBe(3);
  });

  it('are whole up to the time before which no transaction is open', async () => {
    await countAll(spine.limited, parts);
    const asOf = async (): Promise<number> => {
      const { rows } = await spine.pool.query<{ at: Date }>(
        `SELECT as_of AS at FROM figure_cursors WHERE source = 'attempts'`,
      );
      return rows[0]?.at.getTime() ?? 0;
    };
    const open = await connect();
    await open.query('BEGIN');
    await endAttempt(open);
    const { rows } = await spine.pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const opened = rows[0]?.now.getTime() ?? 0;

    for (let n = 0; n < 3; n += 1) await countFigures(spine.limited, 'attempts', parts);
    expect(await asOf()).toBeLessThanOrEqual(opened);

    await open.query('COMMIT');
    await countAll(spine.limited, parts);
    expect(await asOf()).toBeGreaterThanOrEqual(opened);
  });

  it('are counted once by many that count at once, page by page', async () => {
    const writing = Array.from({ length: 40 }, async (_, n) => {
      await endAttempt(spine.limited);
      if (n % 4 === 0) await countFigures(spine.limited, 'attempts', { ...parts, limit: 3 });
    });
    await Promise.all(writing);
    await Promise.all([1, 2, 3].map(() => countAll(spine.limited, { ...parts, limit: 7 })));
    expect(await countOf('attempt')).toBe(40);
  });

  it('of hours that are no longer kept are part of their day and of the total alone', async () => {
    await endAttempt(spine.pool, { hoursAgo: 60 });
    await countAll(spine.limited, parts);
    expect(await figuresOf(spine.pool, 'straight', 'hour')).toEqual([]);
    expect(await figureLines(spine.pool, 'straight', 'attempt', 'day')).toEqual(['read done 1']);
    expect(await figureLines(spine.pool, 'straight', 'attempt', 'total')).toEqual(['read done 1']);
  });

  it('are not counted again in a database that was restored from a dump, and new ones are', async () => {
    await endAttempt(spine.pool, { hoursAgo: 1 });
    await countAll(spine.limited, parts);
    // In the server that the dump was taken from, transactions had much higher numbers.
    await spine.pool.query(
      `UPDATE figure_cursors SET xact = '9000000000000', mark_xact = '9000000000000', mark_at = now()`,
    );
    await endAttempt(spine.pool);
    await countAll(spine.limited, parts);
    await countAll(spine.limited, parts);
    expect(await countOf('attempt')).toBe(2);
  });
});

describe('a count', () => {
  it('reads no more than a page of the rows that a restored database had before', async () => {
    const { pool } = spine;
    for (let n = 0; n < 12; n += 1) await endAttempt(pool, { hoursAgo: 1 });
    await countAll(spine.limited, parts);
    await pool.query(`UPDATE figure_cursors SET xact = '9000000000000', mark_xact = NULL, as_of = now()`);
    await endAttempt(pool);
    // Transactions of other tests' databases hold the horizon back for a moment.
    await until('the horizon is past the last attempt', async () => {
      const { rows } = await pool.query<{ isPast: boolean }>(
        'SELECT max(xact) < pg_snapshot_xmin(pg_current_snapshot()) AS "isPast" FROM attempts',
      );
      return rows[0]?.isPast ?? false;
    });

    const pages: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      pages.push(await countFigures(spine.limited, 'attempts', { ...parts, limit: 5 }));
    }

    expect(pages).toEqual(['more', 'more', 'all']);
    expect(await countOf('attempt')).toBe(13);
  });

  it('reads what was not counted yet, and nothing of what was', async () => {
    const { pool } = spine;
    await pool.query(
      `INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, result)
       SELECT gen_random_uuid(), 'straight', 1, 'read', 1, 1, now(), 'done' FROM generate_series(1, 20000)`,
    );
    await pool.query(
      `INSERT INTO audit (item_id, pipeline, version, visit, epoch, to_state, trigger, actor, actor_type)
       SELECT gen_random_uuid(), 'straight', 1, 1, 1, 'READING', 't', 'a', 'worker' FROM generate_series(1, 20000)`,
    );
    await countAll(spine.limited, { ...parts, limit: 5_000 });
    expect([await countOf('attempt'), await countOf('move')]).toEqual([20_000, 20_000]);
    await pool.query('VACUUM ANALYZE attempts, audit');
    await endAttempt(pool);
    await byHand(pool, straight).make();

    const { scanned, found } = await readsOf(spine, (counted) => countAll(counted, parts));

    expect(scanned).toBe(0);
    expect(Object.values(found).reduce((sum, entries) => sum + entries, 0)).toBeLessThan(50);
  });
});

describe('moves', () => {
  it('are counted by how they came about: a verdict is no failure, and a refused input is a verdict', async () => {
    const { pool } = spine;
    const hand = byHand(pool, straight);
    await hand.walk(await hand.make(), 'read:empty');
    await hand.walk(await hand.make(), 'read', 'check:bad');
    const cancelled = await hand.make();
    await cancelItem(pool, findIn(straight), { itemId: cancelled, actor: ROOT });
    for (const error of [FAILURE, FAILURE, { ...FAILURE, class: 'BAD_INPUT' } as const]) {
      await hand.commit(await hand.claimed(await hand.make()), { is: 'spent', error });
    }
    const stuck = await hand.make();
    const { epoch, version } = await itemOf(pool, stuck);
    const cause = { reason: 'worker_died', sentence: 'It died.' };
    await exhaustItem(pool, findIn(straight), {
      itemId: stuck,
      actor: SYSTEM,
      seen: epoch,
      seenVersion: version,
      cause,
    });
    const paused = await hand.make();
    await pauseItem(pool, findIn(straight), { itemId: paused, actor: ROOT, until: 'infinity' });

    await countAll(spine.limited, parts);

    expect(await figureLines(pool, 'straight', 'end')).toEqual([
      'CANCELLED cancelled 1',
      'DONE 1',
      'FAILED 2',
      'FAILED given_up 3',
    ]);
    expect(await figureLines(pool, 'straight', 'move')).toEqual([
      'READING created 8',
      'CHECKING FAILED 1',
      'READING CANCELLED cancelled 1',
      'READING CHECKING 1',
      'READING DONE 1',
      'READING FAILED 1',
      'READING FAILED given_up 3',
    ]);
  });

  it('are timed from the move before, and an end from the beginning of its visit', async () => {
    const entry = `INSERT INTO audit (item_id, pipeline, version, visit, epoch, from_state, to_state, trigger, actor, actor_type, at)
      VALUES ($1, 'straight', $2, $3, 1, $4, $5, 't', 'a', 'worker', now() - $6 * interval '1 millisecond')`;
    const id = randomUUID();
    await spine.pool.query(entry, [id, 1, 1, null, 'READING', 90 * 86_400_000]);
    await spine.pool.query(entry, [id, 2, 2, 'FAILED', 'READING', 5_000]);
    await spine.pool.query(entry, [id, 3, 2, 'READING', 'READING', 4_000]);
    await spine.pool.query(entry, [id, 4, 2, 'READING', 'CHECKING', 3_000]);
    await spine.pool.query(entry, [id, 5, 2, 'CHECKING', 'DONE', 1_000]);
    await countAll(spine.limited, parts);

    const figures = await listTotalFigures(spine.pool, ['straight']);
    const took = new Map(figures.map(({ kind, stage, outcome, sumMs }) => [`${kind} ${stage} ${outcome}`, sumMs]));
    // Each entry is written a few milliseconds after the one before.
    expect(took.get('end  DONE')).toBeGreaterThanOrEqual(4_000);
    expect(took.get('end  DONE')).toBeLessThan(5_000);
    expect(took.get('move READING CHECKING')).toBeGreaterThanOrEqual(2_000);
    expect(took.get('move READING CHECKING')).toBeLessThan(3_000);
    expect(took.get('move CHECKING DONE')).toBeGreaterThanOrEqual(2_000);
  });
});
