import type { Sql } from '../../ports/sql.js';

/** Adds hours that are past their retention to their day and deletes them, in one statement, so that an hour is never
 *  in both tables. Returns the number of hours. */
export async function foldHourlyMetrics(sql: Sql, keptMs: number, rows: number): Promise<number> {
  const { rows: folded } = await sql.query<{ count: number }>(
    `WITH old AS (
       DELETE FROM metrics_hourly WHERE (pipeline, hour) IN (
         SELECT pipeline, hour FROM metrics_hourly WHERE hour < now() - $1 * interval '1 millisecond' - interval '1 hour'
         ORDER BY hour LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING *, (hour AT TIME ZONE 'UTC')::date AS day
     ), days AS (
       SELECT pipeline, day, sum(received) AS received, sum(finished) AS finished, sum(failed) AS failed,
         sum(timed_out) AS timed_out, sum(duration_ms) AS duration_ms FROM old GROUP BY pipeline, day
     ), folded AS (
       INSERT INTO metrics_daily AS d (pipeline, day, received, finished, failed, timed_out, by_class, duration_ms)
       SELECT pipeline, day, received, finished, failed, timed_out, (SELECT coalesce(jsonb_object_agg(class, count), '{}') FROM (
           SELECT key AS class, sum(value::int) AS count FROM old o, jsonb_each_text(o.by_class)
           WHERE o.pipeline = days.pipeline AND o.day = days.day GROUP BY key) added),
         duration_ms FROM days
       ON CONFLICT (pipeline, day) DO UPDATE SET received = d.received + excluded.received,
         finished = d.finished + excluded.finished, failed = d.failed + excluded.failed,
         timed_out = d.timed_out + excluded.timed_out, duration_ms = d.duration_ms + excluded.duration_ms,
         by_class = (SELECT coalesce(jsonb_object_agg(class, count), '{}') FROM (
           SELECT key AS class, sum(value::int) AS count FROM (
             SELECT * FROM jsonb_each_text(d.by_class) UNION ALL SELECT * FROM jsonb_each_text(excluded.by_class)) parts
           GROUP BY key) added)
     )
     SELECT count(*)::int AS count FROM old`,
    [keptMs, rows],
  );
  return folded[0]?.count ?? 0;
}
