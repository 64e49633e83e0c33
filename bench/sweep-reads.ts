import type pg from 'pg';
import type { Scene } from './sweep-data.js';

/** What one sweep read. */
export interface Reads {
  /** Rows by table, by index or not. */
  rows: Record<string, number>;
  /** Rows that were read without an index. */
  scanned: number;
  /** Pages, from the cache or not. */
  buffers: number;
}

/** Counts what `work` reads in the scene's database: pages by pg_stat_statements, which sees statements only and no vacuum
 *  beside them; rows by the tables' own counters. */
export async function readsOf(
  { control, name }: Scene,
  { server, pool, work }: { server: pg.Client; pool: pg.Pool; work: () => Promise<void> },
): Promise<Reads> {
  await flush(control);
  const before = await countersOf(control);
  await server.query(`SELECT pg_stat_statements_reset(0, (SELECT oid FROM pg_database WHERE datname = $1))`, [name]);
  await work();
  const { rows: pages } = await server.query<{ buffers: number }>(
    `SELECT sum(shared_blks_hit + shared_blks_read)::int AS buffers
     FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)`,
    [name],
  );
  await flushAll(pool);
  const after = await countersOf(control);
  const grown = [...after].map(([table, now]) => {
    const then = before.get(table) ?? { read: 0, scanned: 0 };
    return { table, read: now.read - then.read, scanned: now.scanned - then.scanned };
  });
  return {
    rows: Object.fromEntries(grown.filter((each) => each.read > 0).map((each) => [each.table, each.read])),
    scanned: grown.reduce((sum, each) => sum + each.scanned, 0),
    buffers: pages[0]?.buffers ?? NaN,
  };
}

async function countersOf(control: pg.Client): Promise<Map<string, { read: number; scanned: number }>> {
  const { rows } = await control.query<{ table: string; read: number; scanned: number }>(
    `SELECT relname AS table, (seq_tup_read + COALESCE(idx_tup_fetch, 0))::int AS read, seq_tup_read::int AS scanned
     FROM pg_stat_user_tables`,
  );
  return new Map(rows.map(({ table, read, scanned }) => [table, { read, scanned }]));
}

/** A session keeps its counts to itself for up to a second unless it is told. */
async function flush(session: pg.ClientBase): Promise<void> {
  await session.query('SELECT pg_stat_force_next_flush()');
}

async function flushAll(pool: pg.Pool): Promise<void> {
  const sessions = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
  for (const session of sessions) {
    await flush(session);
    session.release();
  }
}
