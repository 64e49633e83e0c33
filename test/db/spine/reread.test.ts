import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPool } from '../../../src/db/postgres/client.js';
import { cancelItem, rescueItem } from '../../../src/db/spine/control.js';
import { rereadAttempt } from '../../../src/db/spine/reread.js';
import { isTransient } from '../../../src/db/postgres/database-fault.js';
import { holdLock } from '../../support/barrier.js';
import { effectsOf, itemOf, trailFaults } from '../../support/facts.js';
import { type LossyProxy, startLossyProxy } from '../../support/lossy-proxy.js';
import { byHand, doneWith, effectOf, FAILURE, findIn, ROOT, useSpine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

const spine = useSpine();
let proxy: LossyProxy;
let worker: pg.Pool;
beforeEach(async () => {
  proxy = await startLossyProxy(spine.url);
  worker = createPool({ url: proxy.url, size: 2, name: 'worker' });
});
afterEach(async () => {
  await worker.end();
  await proxy.close();
});

/** The words by which the proxy knows the request that commits. */
const COMMITS = { statement: 'canary_effects', function: 'COMMIT' } as const;

describe.each(['statement', 'function'] as const)('a commit with a save %s whose answer is lost', (kind) => {
  async function commitAndLose(when: 'answered' | 'before') {
    const hand = byHand(worker, straight);
    const id = await byHand(spine.pool, straight).make();
    const attempt = await hand.claimed(id);
    const { text, values } = effectOf(attempt);
    const save = { text, values };
    proxy.cut(COMMITS[kind], when);
    const failed = await hand
      .commit(attempt, {
        is: 'done',
        outcome: 'done',
        save:
          kind === 'statement'
            ? save
            : async (transaction) => {
                await transaction.query(`WITH guard AS (SELECT * FROM tasks WHERE item_id = $2) ${text}`, [
                  ...values,
                  id,
                ]);
              },
      })
      .catch((error: unknown) => error);
    expect(isTransient(failed)).toBe(true);
    expect(proxy.cuts()).toBe(1);
    return { id, hand, attempt };
  }

  it('after it was written: the row says committed, and nothing is doubled when it is tried again', async () => {
    const { id, hand, attempt } = await commitAndLose('answered');

    expect(await rereadAttempt(worker, attempt)).toBe('committed');
    expect(await hand.finish(attempt)).toBe('superseded');
    expect(await effectsOf(spine.pool, id)).toEqual(['1 read']);
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'CHECKING', version: 2 });
    expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it('before it was written: the row says so, and the second try writes it once', async () => {
    const { id, hand, attempt } = await commitAndLose('before');

    expect(await rereadAttempt(worker, attempt)).toBe('not_committed');
    expect(await effectsOf(spine.pool, id)).toEqual([]);
    expect(await hand.finish(attempt)).toHaveProperty('do');
    expect(await effectsOf(spine.pool, id)).toEqual(['1 read']);
  });
});

describe('a commit that is still on its way when its connection breaks', () => {
  it.each([
    ['its item', 'SELECT 1 FROM items WHERE id = $1 FOR UPDATE'],
    ['its task', 'SELECT 1 FROM tasks WHERE item_id = $1 FOR UPDATE'],
  ])('because it waits for %s is waited for', async (_, lock) => {
    const hand = byHand(worker, straight);
    const id = await byHand(spine.pool, straight).make();
    const attempt = await hand.claimed(id);
    const barrier = await holdLock(spine, lock, [id]);
    const commit = await barrier.start(() => hand.commit(attempt, doneWith(attempt)), 'worker');
    proxy.sever();
    expect(isTransient(await commit.result.catch((error: unknown) => error))).toBe(true);

    const reread = await barrier.start((pool) => rereadAttempt(pool, attempt));
    await barrier.release();

    expect(await reread.result).toBe('committed');
    expect(await effectsOf(spine.pool, id)).toEqual(['1 read']);
  });
});

describe('an attempt whose fate is asked for', () => {
  it('is not committed while it runs', async () => {
    const hand = byHand(spine.pool, straight);
    expect(await rereadAttempt(spine.pool, await hand.claimed(await hand.make()))).toBe('not_committed');
  });

  it('is committed when its error was written', async () => {
    const hand = byHand(spine.pool, straight);
    const attempt = await hand.claimed(await hand.make());
    await hand.commit(attempt, { is: 'error', error: FAILURE, retryInMs: 0 });

    expect(await rereadAttempt(spine.pool, attempt)).toBe('committed');
  });

  it('is superseded when another attempt has claimed its task', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    await hand.claimed(id);

    expect(await rereadAttempt(spine.pool, attempt)).toBe('superseded');
  });

  it.each([
    ['cancelled', cancelItem],
    ['rescued', rescueItem],
  ])('is superseded when its item was %s', async (_, act) => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    await act(spine.pool, findIn(straight), { itemId: id, actor: ROOT });

    expect(await rereadAttempt(spine.pool, attempt)).toBe('superseded');
  });

  it('is superseded when its item is gone', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    await spine.pool.query('DELETE FROM items WHERE id = $1', [id]);

    expect(await rereadAttempt(spine.pool, attempt)).toBe('superseded');
  });
});
