import type pg from 'pg';
import { createPool } from '../../src/db/postgres/client.js';
import type { Spine } from './spine.js';

const TABLES = ['items', 'tasks', 'attempts', 'audit'];

export interface Reads {
  /** Rows that were found without an index. */
  scanned: number;
  /** Entries that were found in each index. */
  found: Record<string, number>;
}

/** What the sessions of a pool read, by the server's own counters, in the engine's tables and those of a domain that are named. */
export async function readsOf(
  spine: Spine,
  work: (pool: pg.Pool) => Promise<unknown>,
  more: readonly string[] = [],
): Promise<Reads> {
  const tables = [...TABLES, ...more];
  const pool = createPool({ url: spine.url, size: 10, name: 'counted' });
  try {
    await tellCounts(spine.pool);
    const before = await counters(spine, tables);
    await work(pool);
    await tellCounts(pool);
    const after = await counters(spine, tables);
    const grown = Object.entries(after.found).map(([index, n]) => [index, n - (before.found[index] ?? 0)] as const);
    return {
      scanned: after.scanned - before.scanned,
      found: Object.fromEntries(grown.filter(([, entries]) => entries > 0)),
    };
  } finally {
    await pool.end();
  }
}

/** A session keeps its counts to itself for up to a second unless it is told. */
async function tellCounts(pool: pg.Pool): Promise<void> {
  const sessions = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
  for (const session of sessions) {
    await session.query('SELECT pg_stat_force_next_flush()');
    session.release();
  }
}

async function counters(spine: Spine, names: readonly string[]): Promise<Reads> {
  const tables = await spine.pool.query<{ scanned: number }>(
    'SELECT sum(seq_tup_read)::int AS scanned FROM pg_stat_user_tables WHERE relname = ANY ($1)',
    [names],
  );
  const indexes = await spine.pool.query<{ index: string; found: number }>(
    'SELECT indexrelname AS index, idx_tup_read::int AS found FROM pg_stat_user_indexes WHERE relname = ANY ($1)',
    [names],
  );
  return {
    scanned: tables.rows[0]?.scanned ?? NaN,
    found: Object.fromEntries(indexes.rows.map((row) => [row.index, row.found])),
  };
}
