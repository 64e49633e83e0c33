import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase {
  url: string;
  pool: pg.Pool;
  /** Ends the pool and removes the database, whoever else is still connected to it. */
  drop(): Promise<void>;
}

/** The migrated database that every test's own is copied from; global-setup.ts makes it. */
export const templateDatabase = 'unstuck_template';

/** A database of its own for a test file, migrated: call it in `beforeAll`, and `drop` in `afterAll`. */
export async function createTestDatabase(template = templateDatabase): Promise<TestDatabase> {
  const serverUrl = inject('databaseUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await onServer(serverUrl, `create database ${name} template ${template}`);
  const url = urlOfDatabase(serverUrl, name);
  const pool = new pg.Pool({ connectionString: url });
  async function drop(): Promise<void> {
    await pool.end();
    await untilLeft(serverUrl, name);
    await onServer(serverUrl, `drop database ${name} with (force)`);
  }
  return { url, pool, drop };
}

/** Work on connections that do not outlive it, so that the database can be copied afterwards. */
export async function visitDatabase<T>(url: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: url });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/** A copy of the database, as a dump that is restored beside it. Nobody may be connected to the original. */
export async function copyTestDatabase(url: string): Promise<TestDatabase> {
  const original = new URL(url).pathname.slice(1);
  await untilLeft(inject('databaseUrl'), original);
  return createTestDatabase(original);
}

export function urlOfDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** A session of a busy server takes its time to end; only one that was forgotten stays for so long. */
const LEFT_WITHIN_MS = 5_000;

/** A pool has ended before its connections have: one that is dropped under them raises an error nobody listens to. Who stays
 *  for longer than LEFT_WITHIN_MS is dropped all the same. */
async function untilLeft(serverUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    const deadline = performance.now() + LEFT_WITHIN_MS;
    while (performance.now() < deadline) {
      const { rowCount } = await client.query('select 1 from pg_stat_activity where datname = $1 limit 1', [name]);
      if (rowCount === 0) return;
      await delay(10);
    }
  } finally {
    await client.end();
  }
}

/** One statement in the server's own database, on a connection that does not outlive it. */
export async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
