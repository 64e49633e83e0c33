import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cancelItem, pauseItem } from '../../../src/db/spine/control.js';
import { foldHourlyMetrics } from '../../../src/db/recovery/fold-metrics.js';
import { rollUpHours } from '../../../src/db/reads/hourly-metrics.js';
import { readDays, readHours } from '../../../src/db/reads/read-hourly-metrics.js';
import { byHand, FAILURE, findIn, openSpine, ROOT, type Spine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

const HOUR_MS = 3_600_000;
const KEPT_MS = 48 * HOUR_MS;
const tables = { straight };

let spine: Spine;
beforeEach(async () => {
  spine = await openSpine();
});
afterEach(() => spine.close());

const rollUp = (): Promise<number> => rollUpHours(spine.limited, tables, KEPT_MS);

/** The database's present hour; a test that runs across its end sees two, and adds them. */
async function present() {
  const hours = await readHours(spine.pool, 'straight');
  const sum = (of: 'received' | 'finished' | 'failed' | 'timedOut' | 'durationMs') =>
    hours.reduce((total, hour) => total + hour[of], 0);
  const byClass: Record<string, number> = {};
  for (const hour of hours)
    for (const [key, count] of Object.entries(hour.byClass)) byClass[key] = (byClass[key] ?? 0) + count;
  return {
    received: sum('received'),
    finished: sum('finished'),
    failed: sum('failed'),
    timedOut: sum('timedOut'),
    durationMs: sum('durationMs'),
    byClass,
  };
}

/** An hour of the past, rolled up. */
async function keep(hoursAgo: number, figures: { received: number; byClass?: Record<string, number> }): Promise<void> {
  await spine.pool.query(
    `INSERT INTO metrics_hourly (pipeline, hour, received, finished, failed, timed_out, by_class, duration_ms)
     VALUES ('straight', date_trunc('hour', now()) - $1 * interval '1 hour', $2, $2, 1, 2, $3, 500)`,
    [hoursAgo, figures.received, JSON.stringify(figures.byClass ?? {})],
  );
}

/** An item that ended that long ago and took `tookMs`, as its trail tells. */
async function endedAgo(minutesAgo: number, tookMs: number, visit = 1): Promise<void> {
  const entry = `INSERT INTO audit (item_id, pipeline, version, visit, epoch, from_state, to_state, trigger, actor, actor_type, at)
    VALUES ($1, 'straight', $2, $3, 1, $4, $5, 't', 'a', 'worker', $6)`;
  const id = randomUUID();
  const endedAt = Date.now() - minutesAgo * 60_000;
  const at = (ms: number): Date => new Date(endedAt - ms);
  if (visit > 1) await spine.pool.query(entry, [id, 1, 1, null, 'READING', at(90 * 24 * HOUR_MS)]);
  await spine.pool.query(entry, [id, 2, visit, visit > 1 ? 'FAILED' : null, 'READING', at(tookMs)]);
  await spine.pool.query(entry, [id, 3, visit, 'READING', 'DONE', at(0)]);
}

describe('the roll-up of an hour', () => {
  it('says when it was computed, and anew when it is computed anew', async () => {
    await rollUp();
    await spine.pool.query(`UPDATE metrics_hourly SET computed_at = now() - interval '1 day'`);
    await rollUp();
    const { rows } = await spine.pool.query<{ isNew: boolean }>(
      `SELECT max(computed_at) > now() - interval '1 hour' AS "isNew" FROM metrics_hourly`,
    );
    expect(rows).toEqual([{ isNew: true }]);
  });

  it('counts what came, what ended and how, and what failed by class', async () => {
    const hand = byHand(spine.pool, straight);
    const [done, failed, crashed, paused] = [
      await hand.make(),
      await hand.make(),
      await hand.make(),
      await hand.make(),
    ];
    await hand.walk(done, 'read', 'check:good', 'write');
    await hand.commit(await hand.claimed(failed), { is: 'error', error: FAILURE, retryInMs: 0 });
    await cancelItem(spine.limited, findIn(straight), { itemId: failed, actor: ROOT });
    await hand.claimed(crashed);
    await hand.claimed(crashed, { worker: 'worker-b' });
    await pauseItem(spine.limited, findIn(straight), { itemId: paused, actor: ROOT, until: 'infinity' });

    expect(await rollUp()).toBeGreaterThan(0);

    const figures = await present();
    expect(figures).toMatchObject({ received: 4, finished: 1, failed: 1, timedOut: 0 });
    expect(figures.byClass).toEqual({ NETWORK_ERROR: 1, WORKER_CRASH: 1 });
  });

  it('done again gives the same figures', async () => {
    const hand = byHand(spine.pool, straight);
    await hand.walk(await hand.make(), 'read:empty');
    await rollUp();
    const once = await present();
    await Promise.all([rollUp(), rollUp(), rollUp()]);
    expect(await present()).toEqual(once);
  });

  it('says zero of an hour in which nothing happened, and knows none that nobody looked at', async () => {
    await rollUp();
    expect(await present()).toEqual({ received: 0, finished: 0, failed: 0, timedOut: 0, durationMs: 0, byClass: {} });
    expect((await readHours(spine.pool, 'straight')).length).toBeLessThanOrEqual(2);
  });

  it('makes up for hours in which nobody rolled up', async () => {
    await keep(5, { received: 0 });
    await endedAgo(150, 1_000);
    await rollUp();
    const hours = await readHours(spine.pool, 'straight');
    expect(hours.length).toBeGreaterThanOrEqual(6);
    expect((await present()).finished).toBe(1);
  });

  it('adds up how long items took, from the beginning of their visit', async () => {
    await keep(5, { received: 0 });
    await endedAgo(150, 1_000);
    await endedAgo(150, 2_000, 2);
    await rollUp();
    expect(await present()).toMatchObject({ finished: 2, durationMs: 3_000 });
  });

  it('leaves alone what may have been folded into its day', async () => {
    await keep(60, { received: 7 });
    await rollUp();
    const hours = await readHours(spine.pool, 'straight');
    expect(hours.at(-1)).toMatchObject({ received: 7 });
  });
});

describe('hours that are old', () => {
  it('become part of their day, and of nothing else', async () => {
    await keep(3, { received: 1 });
    for (let n = 50; n < 74; n += 1) await keep(n, { received: 2, byClass: { DB_ERROR: 1 } });
    const folded = [];
    for (let count = 1; count > 0; folded.push(count)) count = await foldHourlyMetrics(spine.limited, KEPT_MS, 10);

    expect(folded).toEqual([10, 10, 4, 0]);
    const days = await readDays(spine.pool, 'straight', 10);
    const total = (of: 'received' | 'failed' | 'timedOut' | 'durationMs') =>
      days.reduce((sum, day) => sum + day[of], 0);
    expect([total('received'), total('failed'), total('timedOut'), total('durationMs')]).toEqual([48, 24, 48, 12_000]);
    expect(days.reduce((sum, { byClass }) => sum + (byClass['DB_ERROR'] ?? 0), 0)).toBe(24);
    expect(await readHours(spine.pool, 'straight')).toMatchObject([{ received: 1 }]);
  });

  it('are folded once by two that fold at once', async () => {
    for (let n = 50; n < 90; n += 1) await keep(n, { received: 1 });
    const counts = await Promise.all([1, 2, 3].map(() => foldHourlyMetrics(spine.limited, KEPT_MS, 100)));
    expect(counts.reduce((sum, count) => sum + count)).toBe(40);
    const days = await readDays(spine.pool, 'straight', 10);
    expect(days.reduce((sum, day) => sum + day.received, 0)).toBe(40);
  });
});
