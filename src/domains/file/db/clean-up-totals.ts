import type { MetricPart } from '../../../ports/metric.js';
import type { Sql } from '../../../ports/sql.js';

const TOTALS = {
  orphan_blobs_deleted_total: 'Blobs of no file that clean-up has deleted since the beginning',
  abandoned_uploads_deleted_total: 'Files whose upload never came and that clean-up has deleted since the beginning',
} as const;

/** Adds to a counter. It is not part of the deletion, so a process that dies in between leaves its last batch uncounted. */
export async function addToTotal(sql: Sql, name: keyof typeof TOTALS, count: number): Promise<void> {
  if (count === 0) return;
  await sql.query(
    'INSERT INTO totals (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = totals.value + excluded.value',
    [name, count],
  );
}

export const cleanUpMetrics: readonly MetricPart[] = Object.entries(TOTALS).map(([name, help]) => ({
  ...{ name, help, type: 'counter', labels: [] },
  async read({ sql }) {
    const { rows } = await sql.query<{ value: string }>('SELECT value FROM totals WHERE name = $1', [name]);
    return [{ labels: {}, measured: Number(rows[0]?.value ?? 0) }];
  },
}));
