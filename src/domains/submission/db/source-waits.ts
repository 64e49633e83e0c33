import type { Sql } from '../../../ports/sql.js';

/** The longest wait. A server that asks for more is asked again after this time. */
const MAX_WAIT_MS = 86_400_000;

/** Until when a server must not be asked. Null: it may be asked now. */
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
