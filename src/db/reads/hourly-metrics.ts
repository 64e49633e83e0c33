import type pg from 'pg';
import { isEnd } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { inTransaction } from '../postgres/client.js';

/** Transactions that were open when the hour ended have committed by then: no statement of ours takes nearly as long. */
const SETTLES_AFTER = `interval '5 minutes'`;

const HOUR_MS = 3_600_000;

/** One process at a time is enough. Other processes would write the same figures. */
const LOCK = `hashtextextended('roll up hourly metrics', 0)`;

/** Recomputes the hours that may have changed since the last time, from rows that the hot path writes anyway. Computing an
 *  hour twice gives the same figures. Hours past their retention are never touched, because they may be part of their day
 *  already. Returns the number of hours. 0: another process computes them. */
export async function rollUpHours(
  pool: pg.Pool,
  pipelines: Readonly<Record<string, Pipeline>>,
  keptMs: number,
): Promise<number> {
  const hours = await hoursToRollUp(pool, keptMs);
  let done = 0;
  for (const hour of hours) if (await rollUpHour(pool, pipelines, hour)) done += 1;
  return done;
}

/** From the hour that was rolled up last, which was not over then, to the present hour. The first time there is no last
 *  hour, and `least` leaves the null out. */
async function hoursToRollUp(pool: pg.Pool, keptMs: number): Promise<Date[]> {
  const { rows } = await pool.query<{ from: Date; to: Date }>(
    `SELECT date_trunc('hour', greatest(
         now() - $1 * interval '1 millisecond', least(now() - ${SETTLES_AFTER}, max(hour)))) AS from,
       date_trunc('hour', now()) AS to FROM metrics_hourly`,
    [keptMs],
  );
  const [span] = rows;
  if (!span) return [];
  const count = (span.to.getTime() - span.from.getTime()) / HOUR_MS + 1;
  return Array.from({ length: count }, (_, n) => new Date(span.from.getTime() + n * HOUR_MS));
}

async function rollUpHour(pool: pg.Pool, pipelines: Readonly<Record<string, Pipeline>>, hour: Date): Promise<boolean> {
  return inTransaction(pool, async (transaction) => {
    const { rows } = await transaction.query<{ mine: boolean }>(`SELECT pg_try_advisory_xact_lock(${LOCK}) AS mine`);
    if (!rows[0]?.mine) return false;
    await transaction.query(ROLL_UP, [Object.keys(pipelines), JSON.stringify(endsOf(pipelines)), hour]);
    return true;
  });
}

function endsOf(pipelines: Readonly<Record<string, Pipeline>>): { pipeline: string; state: string; ends: string }[] {
  return Object.values(pipelines).flatMap(({ name, states }) =>
    Object.entries(states).flatMap(([state, row]) => (isEnd(row) ? { pipeline: name, state, ends: row.ends } : [])),
  );
}

/** An item's duration counts from the first entry of its visit. Otherwise a reopened item would bring along the months that
 *  it rested. Entries that change a flag (from = to) are no moves. */
const ROLL_UP = `
  WITH ends AS (
    SELECT * FROM jsonb_to_recordset($2::jsonb) AS e (pipeline text, state text, ends text)
  ), moves AS (
    SELECT a.pipeline,
      count(*) FILTER (WHERE a.from_state IS NULL) AS received,
      count(*) FILTER (WHERE e.ends = 'done') AS finished,
      count(*) FILTER (WHERE e.ends = 'failed') AS failed,
      sum(extract(epoch FROM a.at - begun.at) * 1000) AS duration_ms
    FROM audit a
    LEFT JOIN ends e ON e.pipeline = a.pipeline AND e.state = a.to_state AND a.from_state IS DISTINCT FROM a.to_state
    LEFT JOIN LATERAL (
      SELECT b.at FROM audit b WHERE e.ends IS NOT NULL AND b.item_id = a.item_id AND b.visit = a.visit ORDER BY b.id LIMIT 1
    ) begun ON true
    WHERE a.at >= $3 AND a.at < $3::timestamptz + interval '1 hour'
    GROUP BY a.pipeline
  ), failures AS (
    SELECT pipeline, coalesce(error_class, 'UNKNOWN') AS class, count(*) AS count FROM attempts
    WHERE ended_at >= $3 AND ended_at < $3::timestamptz + interval '1 hour' AND result IN ('error', 'crash')
    GROUP BY 1, 2
  ), classes AS (
    SELECT pipeline, jsonb_object_agg(class, count) AS by_class, sum(count) FILTER (WHERE class = 'SCAN_TIMEOUT') AS timed_out
    FROM failures GROUP BY pipeline
  )
  INSERT INTO metrics_hourly (pipeline, hour, received, finished, failed, timed_out, by_class, duration_ms)
  SELECT name, $3, coalesce(m.received, 0), coalesce(m.finished, 0), coalesce(m.failed, 0), coalesce(c.timed_out, 0),
    coalesce(c.by_class, '{}'), coalesce(round(m.duration_ms), 0)
  FROM unnest($1::text[]) AS known (name) LEFT JOIN moves m ON m.pipeline = name LEFT JOIN classes c ON c.pipeline = name
  ON CONFLICT (pipeline, hour) DO UPDATE SET received = excluded.received, finished = excluded.finished,
    failed = excluded.failed, timed_out = excluded.timed_out, by_class = excluded.by_class, duration_ms = excluded.duration_ms,
    computed_at = now()`;
