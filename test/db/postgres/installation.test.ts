import { describe, expect, it, onTestFinished } from 'vitest';
import { copyProblem } from '../../../src/core/installation.js';
import { inTransaction } from '../../../src/db/postgres/client.js';
import {
  ensureIdentity,
  findIdentity,
  keepName,
  listConnected,
  readPlace,
  recordMove,
  renameIdentity,
  renewIdentity,
} from '../../../src/db/postgres/installation.js';
import { openSession } from '../../../src/db/postgres/session.js';
import { copyTestDatabase, createTestDatabase, type TestDatabase, visitDatabase } from '../../support/postgres.js';
import { byHand, openSpine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

async function openDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  return database;
}

describe('the identity of a database', () => {
  it('is made once, by whichever of many processes comes first', async () => {
    const { pool } = await openDatabase();
    expect(await findIdentity(pool)).toBeNull();

    const all = await Promise.all(Array.from({ length: 8 }, () => ensureIdentity(pool)));

    expect(new Set(all.map(({ id }) => id)).size).toBe(1);
    expect(all[0]).toMatchObject({ name: null, ...(await readPlace(pool)) });
  });

  it('keeps the name of the process that was admitted first', async () => {
    const { pool } = await openDatabase();
    await ensureIdentity(pool);

    expect(await keepName(pool, 'blue')).toMatchObject({ name: 'blue' });
    expect(await keepName(pool, 'green')).toMatchObject({ name: 'blue' });
  });

  it('is without a name where an older version has started an item, so that the item gets no second run', async () => {
    const spine = await openSpine();
    onTestFinished(() => spine.close());
    const hand = byHand(spine.pool, straight);
    await hand.claim(await hand.make());

    expect(await ensureIdentity(spine.pool)).toMatchObject({ name: '' });
    expect(await keepName(spine.pool, 'blue')).toMatchObject({ name: '' });
  });

  it('is read by a role that may not ask for the identifier of the server', async () => {
    const { pool } = await openDatabase();
    const place = await inTransaction(pool, async (transaction) => {
      await transaction.query('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public');
      await transaction.query('CREATE ROLE modest');
      await transaction.query('SET LOCAL ROLE modest');
      const found = await readPlace(transaction);
      await transaction.query('RESET ROLE');
      await transaction.query('DROP ROLE modest');
      return found;
    });
    expect(place).toEqual({ cluster: null, oid: expect.stringMatching(/^\d+$/) as string });
  });
});

describe('a copied database', () => {
  async function openCopy(): Promise<{ copy: TestDatabase; original: string }> {
    const first = await openDatabase();
    const { id: original } = await visitDatabase(first.url, async (pool) => {
      await pool.query(
        `INSERT INTO workers (id, name, host, pid, build, pipelines) VALUES ('w', 'w', 'here', 1, '1', '{}');
         INSERT INTO outbox (id, kind, sentence, routed_at) VALUES ('told', 'no_worker', 'x', now());
         INSERT INTO outbox (id, kind, sentence) VALUES ('untold', 'no_worker', 'x');
         INSERT INTO notice_groups (kind, pipeline, class, owner, waiting, since)
           VALUES ('run_failed', 'canary', '', '', 2, now());
         INSERT INTO deliveries (event_id, channel) VALUES ('told', 'log')`,
      );
      return ensureIdentity(pool);
    });
    const copy = await copyTestDatabase(first.url);
    onTestFinished(() => copy.drop());
    return { copy, original };
  }

  async function problemOf({ pool }: TestDatabase): Promise<string | null> {
    return copyProblem(await ensureIdentity(pool), await readPlace(pool));
  }

  it('is known as a copy, and is the same installation again once it is said to have moved', async () => {
    const { copy, original } = await openCopy();
    expect(await problemOf(copy)).toContain(`this database is a copy: installation ${original} was set up in`);

    await inTransaction(copy.pool, recordMove);

    expect(await problemOf(copy)).toBeNull();
    expect(await ensureIdentity(copy.pool)).toMatchObject({ id: original });
  });

  it('becomes an installation of its own, without the workers and the undelivered notices of the original', async () => {
    const { copy, original } = await openCopy();

    await inTransaction(copy.pool, renewIdentity);

    expect(await problemOf(copy)).toBeNull();
    const renewed = await ensureIdentity(copy.pool);
    expect(renewed).toMatchObject({ name: null });
    expect(renewed.id).not.toBe(original);
    const { rows } = await copy.pool.query(
      `SELECT (SELECT count(*)::int FROM workers WHERE stopped_at IS NULL) AS workers,
         (SELECT count(*)::int FROM outbox WHERE routed_at IS NULL) AS unrouted,
         (SELECT count(*)::int FROM notice_groups) AS gathered,
         (SELECT count(*)::int FROM deliveries WHERE delivered_at IS NULL AND failed_at IS NULL) AS due`,
    );
    expect(rows).toEqual([{ workers: 0, unrouted: 0, gathered: 0, due: 0 }]);
  });
});

it('a database that is renamed gets another id and no name, and keeps its workers, tokens and notices', async () => {
  const spine = await openSpine();
  onTestFinished(() => spine.close());
  const { pool } = spine;
  const hand = byHand(pool, straight);
  await hand.claimed(await hand.make());
  await pool.query(
    `INSERT INTO workers (id, name, host, pid, build, pipelines) VALUES ('w', 'w', 'here', 1, '1', '{}');
     INSERT INTO outbox (id, kind, sentence) VALUES ('untold', 'no_worker', 'x');
     UPDATE tasks SET token = 'token'`,
  );
  const before = await ensureIdentity(pool);
  const facts = `SELECT (SELECT count(*)::int FROM workers WHERE stopped_at IS NULL) AS workers,
    (SELECT count(*)::int FROM outbox WHERE routed_at IS NULL) AS unrouted, (SELECT count(*)::int FROM tasks WHERE token IS NOT NULL) AS tokens`;
  const kept = await pool.query(facts);

  await inTransaction(pool, renameIdentity);

  const renamed = await ensureIdentity(pool);
  expect(renamed).toEqual({ ...before, id: expect.any(String) as string, name: null });
  expect(renamed.id).not.toBe(before.id);
  expect(await keepName(pool, 'blue')).toMatchObject({ name: 'blue' });
  expect((await pool.query(facts)).rows).toEqual(kept.rows);
  expect(kept.rows).toMatchObject([{ unrouted: 1, tokens: 1 }]);
});

it('the processes that are connected to the database are named', async () => {
  const { pool, url } = await openDatabase();
  expect(await listConnected(pool)).toEqual([]);
  const session = await openSession({ url, name: 'worker-1 presence' });
  onTestFinished(() => {
    session.close();
  });
  expect(await listConnected(pool)).toEqual(['worker-1 presence']);
});
