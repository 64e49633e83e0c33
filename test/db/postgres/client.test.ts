import { describe, expect, it } from 'vitest';
import { createPool, inTransaction, queryPrepared } from '../../../src/db/postgres/client.js';
import { rereadAttempt } from '../../../src/db/spine/reread.js';
import { isTransient } from '../../../src/db/postgres/database-fault.js';
import type { Sql } from '../../../src/ports/sql.js';
import { gate } from '../../support/barrier.js';
import { effectsOf, itemOf, taskOf, trailFaults } from '../../support/facts.js';
import { startLossyProxy } from '../../support/lossy-proxy.js';
import { byHand, useSpine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

const spine = useSpine();

/** The shortest heartbeat timeout of any table: another worker's claim comes after it, and must find no lock. */
const HEARTBEAT_MS = 2_000;

async function refusalCount(): Promise<number> {
  const { rows } = await spine.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM refusals');
  return rows[0]?.n ?? -1;
}

function writeRefusal(transaction: Sql): Promise<unknown> {
  return transaction.query(
    `INSERT INTO refusals (item_id, pipeline, stage, fence) VALUES ('00000000-0000-0000-0000-000000000000', 'p', 's', 1)`,
  );
}

describe('a transaction', () => {
  it('is all or nothing', async () => {
    const before = await refusalCount();
    const failed = inTransaction(spine.limited, async (transaction) => {
      await writeRefusal(transaction);
      throw new Error('second thoughts');
    });
    await expect(failed).rejects.toThrow('second thoughts');
    expect(await refusalCount()).toBe(before);

    await inTransaction(spine.limited, writeRefusal);
    expect(await refusalCount()).toBe(before + 1);
  });

  it('whose failed statement was swallowed is not taken for committed', async () => {
    const before = await refusalCount();
    const hidden = inTransaction(spine.limited, async (transaction) => {
      await writeRefusal(transaction);
      await transaction.query('SELECT 1/0').catch(() => undefined);
    });

    await expect(hidden).rejects.toThrow('nothing was committed');
    expect(await refusalCount()).toBe(before);
  });

  it('whose session the server ends between two statements fails, and its connection is not used again', async () => {
    const pool = createPool({ url: spine.url, size: 1, name: 'one' });
    try {
      const ended = inTransaction(pool, async (transaction) => {
        const { rows } = await transaction.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        await spine.pool.query('SELECT pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
        await transaction.query('SELECT 1');
      });
      expect(isTransient(await ended.catch((error: unknown) => error))).toBe(true);
      await expect(pool.query('SELECT 1')).resolves.toMatchObject({ rowCount: 1 });
    } finally {
      await pool.end();
    }
  });
});

describe('a worker that freezes in the middle of its commit', () => {
  it('loses its locks before its task is given to another worker, and is refused when it wakes', async () => {
    const proxy = await startLossyProxy(spine.url);
    const frozenPool = createPool({ url: proxy.url, size: 1, name: 'frozen' });
    try {
      const hand = byHand(spine.limited, straight);
      const id = await hand.make();
      const attempt = await hand.claimed(id, { worker: 'frozen' });
      const frozen = gate();
      const woken = gate();
      const commit = byHand(frozenPool, straight).commit(attempt, {
        is: 'done',
        outcome: 'done',
        async save(transaction) {
          await transaction.query(
            `INSERT INTO canary_effects (item_id, visit, stage, attempt) VALUES ($1, 1, 'read', 1)`,
            [id],
          );
          proxy.freeze();
          frozen.open();
          await woken.opened;
        },
      });
      commit.catch(() => undefined);
      await frozen.opened;

      const before = performance.now();
      const next = await byHand(spine.pool, straight).claimed(id, { worker: 'healthy' });
      const waitedMs = performance.now() - before;
      proxy.thaw();
      woken.open();

      expect(waitedMs).toBeGreaterThan(500);
      expect(waitedMs).toBeLessThan(HEARTBEAT_MS);
      expect(isTransient(await commit.catch((error: unknown) => error))).toBe(true);
      expect(await rereadAttempt(frozenPool, attempt)).toBe('superseded');
      expect(await byHand(frozenPool, straight).finish(attempt)).toBe('superseded');
      expect(await effectsOf(spine.pool, id)).toEqual([]);
      expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 1, status: 'running' });
      expect(await hand.finish(next)).toHaveProperty('do');
      expect(await effectsOf(spine.pool, id)).toEqual(['1 read']);
      expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'CHECKING', version: 2 });
      expect(await trailFaults(spine.pool, id)).toEqual([]);
    } finally {
      await frozenPool.end();
      await proxy.close();
    }
  });

  it('in a save that never ends gets an error and keeps no connection', async () => {
    const hand = byHand(spine.limited, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    const hung = hand.commit(attempt, { is: 'done', outcome: 'done', save: () => new Promise(() => undefined) });
    hung.catch(() => undefined);

    await expect(hung).rejects.toMatchObject({ code: '25P03' });
    const next = await byHand(spine.pool, straight).claimed(id, { worker: 'healthy' });

    expect(await hand.finish(next)).toHaveProperty('do');
    expect(await hand.finish(attempt)).toBe('superseded');
  });
});

describe('the pool', () => {
  it('sets a limit on every wait', async () => {
    const { rows } = await spine.limited.query<{ name: string; setting: string }>(
      `SELECT name, setting FROM pg_settings
       WHERE name IN ('idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout') ORDER BY name`,
    );
    const limits = rows.map(({ name, setting }) => [name, Number(setting)] as const);

    expect(limits.map(([name]) => name)).toEqual([
      'idle_in_transaction_session_timeout',
      'lock_timeout',
      'statement_timeout',
    ]);
    for (const [name, ms] of limits) {
      expect(ms).toBeGreaterThan(0);
      if (name !== 'statement_timeout') expect(ms).toBeLessThan(HEARTBEAT_MS);
    }
  });
});

describe('prepared statements', () => {
  it('are kept on a connection up to a limit, however many texts there are', async () => {
    const kept = await inTransaction(spine.limited, async (transaction) => {
      for (let n = 0; n < 600; n += 1) {
        const [row] = await queryPrepared<{ n: number }>(transaction, `SELECT $1::int + ${String(n)} AS n`, [1]);
        expect(row?.n).toBe(n + 1);
      }
      const { rows } = await transaction.query<{ kept: number }>(
        'SELECT count(*)::int AS kept FROM pg_prepared_statements',
      );
      return rows[0]?.kept;
    });

    expect(kept).toBeGreaterThan(100);
    expect(kept).toBeLessThanOrEqual(500);
  });
});
