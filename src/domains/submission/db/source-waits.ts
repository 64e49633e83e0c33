import type { Sql } from '../../../ports/sql.js';

/** A server that asks for more than this is asked again all the same. */
const MAX_WAIT_MS = 86_400_000;

/** Until when a server wants to be left alone; null: it may be asked. */
export async function findWait(sql: Sql, source: string): Promise<Date | null> {
  const { rows } = await sql.query<{ until: Date }>(
    'SELECT until FROM source_waits WHERE source = $1 AND until > now()',
    [source],
  );
  return rows[0]?.until ?? null;
}

export async function storeWait(sql: Sql, source: string, waitMs: number): Promise<void> {
  await sql.query(
    `INSERT INTO source_waits AS w (source, until) VALUES ($1, now() + $2 * interval '1 millisecond')
     ON CONFLICT (source) DO UPDATE SET until = greatest(w.until, excluded.until)`,
    [source, Math.min(waitMs, MAX_WAIT_MS)],
  );
}
