import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readDays, readHours, readTotals } from '../../../src/db/reads/pipeline-figures.js';
import { cancelItem, pauseItem } from '../../../src/db/spine/control.js';
import { COUNTING, countAll } from '../../support/figures.js';
import { byHand, FAILURE, findIn, openSpine, ROOT, type Spine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

const parts = { ...COUNTING, pipelines: { straight } };

let spine: Spine;
beforeEach(async () => {
  spine = await openSpine();
});
afterEach(() => spine.close());

/** The database's present hour. A test that runs across its end sees two, and adds them. */
async function present() {
  const hours = await readHours(spine.pool, straight, 48);
  const sum = (of: 'received' | 'finished' | 'failed' | 'timedOut') =>
    hours.reduce((total, hour) => total + hour[of], 0);
  const byClass: Record<string, number> = {};
  for (const hour of hours)
    for (const [key, count] of Object.entries(hour.byClass)) byClass[key] = (byClass[key] ?? 0) + count;
  const counts = {
    received: sum('received'),
    finished: sum('finished'),
    failed: sum('failed'),
    timedOut: sum('timedOut'),
  };
  return { ...counts, byClass };
}

describe('the hours of a pipeline', () => {
  it('count what came, what ended and how, and what failed by class', async () => {
    const hand = byHand(spine.pool, straight);
    const [done, failed, crashed, paused, slow] = [
      await hand.make(),
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
    const timeout = { ...FAILURE, class: 'SCAN_TIMEOUT' } as const;
    await hand.commit(await hand.claimed(slow), { is: 'error', error: timeout, retryInMs: 0 });

    await countAll(spine.limited, parts);

    expect(await present()).toEqual({
      ...{ received: 5, finished: 1, failed: 1, timedOut: 1 },
      byClass: { NETWORK_ERROR: 1, SCAN_TIMEOUT: 1, WORKER_CRASH: 1 },
    });
    expect(await readTotals(spine.pool, straight)).toMatchObject({ received: 5, finished: 1, failed: 1, timedOut: 1 });
    const days = await readDays(spine.pool, straight, 10);
    expect(days.reduce((sum, { received }) => sum + received, 0)).toBe(5);
  });

  it('say zero of an hour in which nothing happened, and know none that was not counted', async () => {
    expect(await readHours(spine.pool, straight, 48)).toEqual([]);
    expect((await readTotals(spine.pool, straight)).asOf).toBeNull();

    await countAll(spine.limited, parts);

    expect(await present()).toEqual({ received: 0, finished: 0, failed: 0, timedOut: 0, byClass: {} });
    const hours = await readHours(spine.pool, straight, 48);
    expect([1, 2]).toContain(hours.length);
    expect((await readTotals(spine.pool, straight)).asOf).toEqual(expect.any(Date) as Date);
  });

  it('go back to where the figures begin, as many as are asked for', async () => {
    await spine.pool.query(`UPDATE figure_cursors SET begins_at = now() - interval '100 days'`);
    await countAll(spine.limited, parts);
    expect(await readHours(spine.pool, straight, 48)).toHaveLength(48);
    expect(await readDays(spine.pool, straight, 30)).toHaveLength(30);
    const days = await readDays(spine.pool, straight, 800);
    expect([101, 102]).toContain(days.length);
    expect(days[0]?.at).toMatch(/^\d{4}-\d\d-\d\d$/);
  });
});
