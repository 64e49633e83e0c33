import { readSweepAges } from '../../db/recovery/sweep-ages.js';
import type { ApiParts } from '../parts.js';

/** The earliest end among the last sweeps of these pipelines. Null: a pipeline was never swept. */
export async function sweptAsOf(
  { pool, schedules }: Pick<ApiParts, 'pool' | 'schedules'>,
  pipelines: readonly string[],
): Promise<string | null> {
  const sweeps = schedules.rows.filter((row) => row.sweeps !== null && pipelines.includes(row.sweeps));
  const ages = await readSweepAges(
    pool,
    sweeps.map(({ id }) => id),
  );
  const ends = ages.map(({ lastEndedAt }) => lastEndedAt?.toISOString() ?? null);
  return ends.includes(null) ? null : (ends.toSorted()[0] ?? null);
}
