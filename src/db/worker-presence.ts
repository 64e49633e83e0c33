import type pg from 'pg';

/** Three signs of life missed (workers say that they are there every five seconds), and a little more. */
const SILENT_SECONDS = 20;

/** Which of these processes are there; who never registered is not answered. */
export async function findPresence(
  pool: pg.Pool,
  ids: readonly string[],
): Promise<Map<string, { isPresent: boolean }>> {
  const { rows } = await pool.query<{ id: string; isPresent: boolean }>(
    `SELECT id, COALESCE(stopped_at, seen_gone_at, died_at) IS NULL AND seen_at > now() - ${String(SILENT_SECONDS)} * interval '1 second' AS "isPresent"
     FROM workers WHERE id = ANY ($1::text[])`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
