import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { messageOf } from '../../core/errors.js';

/** The key that Prisma's own `migrate deploy` locks, so that it and this migration never run at once. */
const PRISMA_MIGRATE_LOCK = 72707369;

/** A change of a table waits for the transactions that use it, and every later transaction waits behind the change. A
 *  failed upgrade is better than a standstill of the running version. The product's own transactions end long before
 *  this limit. */
const LOCK_LIMIT = '30s';

interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

interface Applied {
  migration_name: string;
  checksum: string;
  finished_at: Date | null;
}

/** Applies `prisma/migrations` in order and keeps Prisma's own table, so that `prisma migrate deploy` agrees with it.
 *  Refuses a database whose history differs from the files: no start is better than a guess about somebody's data. */
export async function migrate(databaseUrl: string, migrationsDir: string): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(migrationsDir);
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'unstuck migrate' });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [PRISMA_MIGRATE_LOCK]);
    await client.query(`SET lock_timeout = '${LOCK_LIMIT}'`);
    await client.query(CREATE_HISTORY);
    const pending = pendingOf(migrations, await appliedIn(client));
    for (const migration of pending) await apply(client, migration);
    return { applied: pending.map((each) => each.name) };
  } finally {
    await client.end();
  }
}

/** The migrations on disk that are not applied to the database; for the doctor. */
export async function pendingMigrations(databaseUrl: string, migrationsDir: string): Promise<string[]> {
  const migrations = await readMigrations(migrationsDir);
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'unstuck doctor' });
  await client.connect();
  try {
    const { rows } = await client.query<{ there: boolean }>(
      `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there`,
    );
    if (!rows[0]?.there) return migrations.map((each) => each.name);
    return pendingOf(migrations, await appliedIn(client)).map((each) => each.name);
  } finally {
    await client.end();
  }
}

async function readMigrations(dir: string): Promise<Migration[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(dir, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function appliedIn(client: pg.Client): Promise<Applied[]> {
  const { rows } = await client.query<Applied>(
    'SELECT migration_name, checksum, finished_at FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name COLLATE "C"',
  );
  return rows;
}

function pendingOf(migrations: Migration[], applied: Applied[]): Migration[] {
  const onDisk = new Map(migrations.map((each) => [each.name, each]));
  const newest = migrations.at(-1)?.name ?? '';
  for (const { migration_name: name, checksum, finished_at: finishedAt } of applied) {
    if (!finishedAt) {
      throw new Error(`migration ${name} failed half-way in this database; mend it and tell 'prisma migrate resolve'`);
    }
    const local = onDisk.get(name);
    if (local && local.checksum !== checksum) {
      throw new Error(`migration ${name} was changed after it was applied; restore the file and write a new migration`);
    }
    // A later migration belongs to a newer version. The old code may start beside it during a rolling upgrade.
    if (!local && name < newest) {
      throw new Error(
        `this database has the migration ${name}, which prisma/migrations lacks; put its folder back, or use another database`,
      );
    }
  }
  const done = new Set(applied.map((each) => each.migration_name));
  const pending = migrations.filter((each) => !done.has(each.name));
  const last = applied.at(-1)?.migration_name ?? '';
  const late = pending.find((each) => each.name < last);
  if (late)
    throw new Error(`migration ${late.name} sorts before ${last}, which is applied already; give it a later name`);
  return pending;
}

/** Applies one migration and its record in one transaction: a migration that fails leaves neither a change nor a
 *  record. */
async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(migration.sql);
    await client.query(RECORD, [randomUUID(), migration.checksum, migration.name]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    const reason = messageOf(error);
    throw new Error(`migration ${migration.name} failed and was rolled back: ${reason}`, { cause: error });
  }
}

const RECORD = `
  INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
  VALUES ($1, $2, $3, clock_timestamp(), 1)`;

const CREATE_HISTORY = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum            VARCHAR(64) NOT NULL,
    finished_at         TIMESTAMPTZ,
    migration_name      VARCHAR(255) NOT NULL,
    logs                TEXT,
    rolled_back_at      TIMESTAMPTZ,
    started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`;
