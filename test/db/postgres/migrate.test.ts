import { createHash, randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { migrate, pendingMigrations } from '../../../src/db/postgres/migrate.js';
import { onServer, urlOfDatabase } from '../../support/postgres.js';
import { openSpine, type Spine } from '../../support/spine.js';
import { until } from '../../support/until.js';

const OURS = resolve(import.meta.dirname, '../../../prisma/migrations');

/** The key that Prisma's own `migrate deploy` locks. */
const PRISMA_LOCK = 72707369;

let url: string;
let dir: string;
let name: string;
beforeEach(async () => {
  name = `migrate_${randomUUID().replaceAll('-', '')}`;
  await onServer(inject('databaseUrl'), `create database ${name}`);
  url = urlOfDatabase(inject('databaseUrl'), name);
  dir = mkdtempSync(join(tmpdir(), 'migrations-'));
});
afterEach(async () => {
  rmSync(dir, { recursive: true });
  await onServer(inject('databaseUrl'), `drop database ${name} with (force)`);
});

function write(migration: string, sql: string): void {
  mkdirSync(join(dir, migration), { recursive: true });
  writeFileSync(join(dir, migration, 'migration.sql'), sql);
}

async function query(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

/** A session that has an advisory lock for as long as it is open. */
async function holderOf(key: number): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('SELECT pg_advisory_lock($1)', [key]);
  return client;
}

/** The keys of the advisory locks that a session waits for in this database. */
async function awaited(): Promise<unknown[]> {
  const rows = await query(
    `SELECT objid::int AS key FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
     WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted ORDER BY key`,
  );
  return rows.map((each) => each['key']);
}

/** Applies the product's migrations before the given one; the others are still to be applied. */
async function migrateUpTo(name: string): Promise<void> {
  cpSync(OURS, dir, { recursive: true });
  for (const each of readdirSync(dir))
    if (/^\d/.test(each) && each >= name) rmSync(join(dir, each), { recursive: true });
  await migrate(url, dir);
  cpSync(OURS, dir, { recursive: true });
}

async function tables(): Promise<unknown[]> {
  const rows = await query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`);
  return rows.map((each) => each['tablename']);
}

describe('migrations', () => {
  it('build a fresh database, and change nothing the second time', async () => {
    cpSync(OURS, dir, { recursive: true });
    const pending = await pendingMigrations(url, dir);
    expect(pending.length).toBeGreaterThan(0);

    expect(await migrate(url, dir)).toEqual({ applied: pending });
    expect(await tables()).toEqual(expect.arrayContaining(['items', 'tasks', 'audit', '_prisma_migrations']));
    expect(await migrate(url, dir)).toEqual({ applied: [] });
    expect(await pendingMigrations(url, dir)).toEqual([]);
  });

  it('are recorded as Prisma does it', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    await migrate(url, dir);

    expect(
      await query(
        'SELECT migration_name, checksum, finished_at IS NOT NULL AS done, applied_steps_count FROM _prisma_migrations',
      ),
    ).toEqual([
      {
        migration_name: '1_first',
        checksum: '168f4af76cbece82a4185c6c57366e07883c6e4155f25ce28559018d99433b81',
        done: true,
        applied_steps_count: 1,
      },
    ]);
  });

  it('are applied in order, once, by however many start at once', async () => {
    const inside = 1;
    write('1_first', `CREATE TABLE a (id int); SELECT pg_advisory_xact_lock(${String(inside)});`);
    write('2_second', 'ALTER TABLE a ADD COLUMN b int;');
    const holder = await holderOf(inside);

    const migrated = Promise.all(Array.from({ length: 4 }, () => migrate(url, dir)));
    await until('all of them wait', async () => (await awaited()).length === 4);
    expect(await awaited()).toEqual([inside, PRISMA_LOCK, PRISMA_LOCK, PRISMA_LOCK]);
    await holder.end();

    const results = await migrated;
    expect(results.map((each) => each.applied.length).sort()).toEqual([0, 0, 0, 2]);
    expect(await query('SELECT count(*)::int AS n FROM _prisma_migrations')).toEqual([{ n: 2 }]);
  });

  it('wait for a migrate deploy of Prisma that is under way', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    const prisma = await holderOf(PRISMA_LOCK);
    const migrated = migrate(url, dir);
    await until('it waits', async () => (await awaited()).includes(PRISMA_LOCK));
    expect(await tables()).toEqual([]);
    await prisma.end();

    expect(await migrated).toEqual({ applied: ['1_first'] });
  });

  it('leave neither a change nor a record when they fail, and keep the earlier ones', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    write('2_second', 'CREATE TABLE b (id int); CREATE TABLE a (id int);');

    await expect(migrate(url, dir)).rejects.toThrow(
      'migration 2_second failed and was rolled back: relation "a" already exists',
    );

    expect(await tables()).toEqual(['_prisma_migrations', 'a']);
    expect(await query('SELECT migration_name FROM _prisma_migrations')).toEqual([{ migration_name: '1_first' }]);
    write('2_second', 'CREATE TABLE b (id int);');
    expect(await migrate(url, dir)).toEqual({ applied: ['2_second'] });
  });

  it('give up rather than make everybody wait behind them for a lock', async () => {
    write('1_first', `CREATE TABLE a AS SELECT current_setting('lock_timeout') AS lock_limit;`);
    await migrate(url, dir);

    expect(await query('SELECT lock_limit FROM a')).toEqual([{ lock_limit: '30s' }]);
  });

  it('are refused if they were changed after they were applied', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    await migrate(url, dir);
    write('1_first', 'CREATE TABLE a (id bigint);');
    write('2_second', 'CREATE TABLE b (id int);');

    await expect(migrate(url, dir)).rejects.toThrow('1_first was changed after it was applied');
    expect(await tables()).not.toContain('b');
  });

  it('are refused in a database that has migrations of another program', async () => {
    write('1_theirs', 'CREATE TABLE theirs (id int);');
    await migrate(url, dir);
    rmSync(join(dir, '1_theirs'), { recursive: true });
    write('2_ours', 'CREATE TABLE ours (id int);');

    await expect(migrate(url, dir)).rejects.toThrow(
      'the migration 1_theirs, which prisma/migrations lacks; put its folder back',
    );
    expect(await tables()).not.toContain('ours');
  });

  it('of a newer version are accepted, so that old code starts beside it', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    write('2_newer', 'CREATE TABLE b (id int);');
    await migrate(url, dir);
    rmSync(join(dir, '2_newer'), { recursive: true });

    expect(await migrate(url, dir)).toEqual({ applied: [] });
  });

  it('with a name before what is applied are refused', async () => {
    write('2_second', 'CREATE TABLE b (id int);');
    await migrate(url, dir);
    write('1_late', 'CREATE TABLE a (id int);');

    await expect(migrate(url, dir)).rejects.toThrow('1_late sorts before 2_second');
  });

  it('are refused after Prisma left one half-way, until a person has looked', async () => {
    write('1_first', 'CREATE TABLE a (id int);');
    await migrate(url, dir);
    await query(`UPDATE _prisma_migrations SET finished_at = NULL`);

    await expect(migrate(url, dir)).rejects.toThrow('1_first failed half-way');
    await query(`UPDATE _prisma_migrations SET rolled_back_at = now()`);
    await query('DROP TABLE a');
    expect(await migrate(url, dir)).toEqual({ applied: ['1_first'] });
  });
});

describe('the migration whose index is built beforehand', () => {
  const NAME = '20261116150000_failures_and_totals';

  /** The statements that operators are told to run, with what their shell fills in. */
  function documented(): string[] {
    const page = readFileSync(resolve(import.meta.dirname, '../../../UPGRADING.md'), 'utf8');
    const script = /<<SQL\n(CREATE INDEX CONCURRENTLY[^]*?)\nSQL\n/.exec(page)?.[1] ?? '';
    const sum = createHash('sha256')
      .update(readFileSync(join(OURS, NAME, 'migration.sql')))
      .digest('hex');
    const filled = script.replace(/\$\(sha256sum < prisma\/migrations\/(\S+)\/migration\.sql \|[^)]*\)/, (_, name) => {
      expect(name).toBe(NAME);
      return sum;
    });
    return filled.split(/;\n?/).filter((each) => each.trim() !== '');
  }

  async function indexes(): Promise<unknown[]> {
    return query(`SELECT indexdef, indisvalid FROM pg_indexes JOIN pg_index ON indexrelid = indexname::regclass
      WHERE schemaname = 'public' AND tablename = 'attempts' ORDER BY indexname`);
  }

  it('leaves what it would have left, as the manual has it, and the later ones go on from there', async () => {
    await migrateUpTo(NAME);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const statement of documented()) await client.query(statement);
    await client.end();
    expect((await migrate(url, dir)).applied.filter((name) => name <= NAME)).toEqual([]);
    expect(await pendingMigrations(url, dir)).toEqual([]);
    const byHand = { indexes: await indexes(), tables: await tables() };

    await query('DROP SCHEMA public CASCADE');
    await query('CREATE SCHEMA public');
    await migrate(url, dir);
    expect(byHand).toEqual({ indexes: await indexes(), tables: await tables() });
  });

  it('fails and leaves nothing where the index alone was built', async () => {
    await migrateUpTo(NAME);
    await query(`CREATE INDEX attempts_failed ON attempts (pipeline) WHERE result = 'error'`);

    await expect(migrate(url, dir)).rejects.toThrow(/failed and was rolled back.*attempts_failed/);
    expect(await tables()).not.toContain('totals');
  });
});

describe('the indexes of live items', () => {
  let spine: Spine;
  beforeAll(async () => {
    spine = await openSpine();
    await spine.pool.query(
      `INSERT INTO items (id, pipeline, owner, state, started, ended_at)
       SELECT gen_random_uuid(), 'canary', 'ada', 'DONE', true, now() FROM generate_series(1, 20000)`,
    );
    await spine.pool.query(
      `INSERT INTO items (id, pipeline, owner, state, started, start_after, wake_after)
       SELECT gen_random_uuid(), 'canary', 'ada', 'FIRST', n % 2 = 0, now(), CASE WHEN n % 10 = 0 THEN now() END
       FROM generate_series(1, 100) AS n`,
    );
    await spine.pool.query('VACUUM ANALYZE items');
  });
  afterAll(() => spine.close());

  it.each([
    [
      'a sweep',
      'items_live',
      `SELECT id FROM items WHERE pipeline = 'canary' AND ended_at IS NULL ORDER BY examined_at NULLS FIRST, id LIMIT 50`,
    ],
    [
      'admission',
      'items_live_by_state',
      `SELECT count(*) FROM items WHERE pipeline = 'canary' AND state = 'FIRST' AND ended_at IS NULL`,
    ],
    [
      'the dispatcher, for starts',
      'items_to_start',
      'SELECT id FROM items WHERE start_after <= now() AND NOT started AND ended_at IS NULL',
    ],
    [
      'the dispatcher, for wakes',
      'items_to_wake',
      'SELECT id FROM items WHERE wake_after <= now() ORDER BY wake_after LIMIT 50',
    ],
    [
      'a new item with a key',
      'items_dedupe_live',
      `SELECT id FROM items WHERE pipeline = 'canary' AND dedupe_key = 'k' AND ended_at IS NULL`,
    ],
  ])('are what %s uses, so that finished ones cost nothing', async (_, index, statement) => {
    const { rows } = await spine.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${statement}`);
    expect(rows.map((each) => each['QUERY PLAN']).join('\n')).toContain(index);
  });

  it('are partial and small beside the table', async () => {
    const { rows } = await spine.pool.query<{ name: string; partial: boolean; entries: number }>(
      `SELECT c.relname AS name, i.indpred IS NOT NULL AS partial, c.reltuples::int AS entries
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       WHERE i.indrelid = 'items'::regclass AND c.relname IN ('items_live', 'items_live_by_state', 'items_to_start', 'items_to_wake')`,
    );
    expect(rows).toHaveLength(4);
    for (const each of rows) {
      expect(each.partial).toBe(true);
      expect(each.entries).toBeLessThanOrEqual(100);
    }
  });
});
