-- Apart from the migration that adds `attempts.xact`, because that one locks the table, and this one only reads.
--
-- The attempts that were written before the column. Bounds as in src/core/figures.ts. An hour is kept for two days.
INSERT INTO "figures" ("span", "at", "pipeline", "kind", "stage", "outcome", "class", "count", "sum_ms", "buckets")
SELECT s.span, s.at, a.pipeline, 'attempt', a.stage, a.result,
  CASE a.result WHEN 'crash' THEN 'WORKER_CRASH' WHEN 'error' THEN COALESCE(a.error_class, 'UNKNOWN') ELSE '' END,
  count(*), sum(took.ms),
  ARRAY[
    count(*) FILTER (WHERE bucket = 0), count(*) FILTER (WHERE bucket = 1), count(*) FILTER (WHERE bucket = 2),
    count(*) FILTER (WHERE bucket = 3), count(*) FILTER (WHERE bucket = 4), count(*) FILTER (WHERE bucket = 5),
    count(*) FILTER (WHERE bucket = 6), count(*) FILTER (WHERE bucket = 7), count(*) FILTER (WHERE bucket = 8),
    count(*) FILTER (WHERE bucket = 9), count(*) FILTER (WHERE bucket = 10), count(*) FILTER (WHERE bucket = 11),
    count(*) FILTER (WHERE bucket = 12), count(*) FILTER (WHERE bucket = 13), count(*) FILTER (WHERE bucket = 14),
    count(*) FILTER (WHERE bucket = 15), count(*) FILTER (WHERE bucket = 16), count(*) FILTER (WHERE bucket = 17),
    count(*) FILTER (WHERE bucket = 18), count(*) FILTER (WHERE bucket = 19), count(*) FILTER (WHERE bucket = 20)
  ]
FROM "attempts" a
CROSS JOIN LATERAL (
  SELECT greatest(0, round(extract(epoch FROM a.ended_at - a.started_at) * 1000))::bigint AS ms
) took
CROSS JOIN LATERAL (
  SELECT width_bucket(took.ms - 1, ARRAY[5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 15000, 30000, 60000, 120000,
    300000, 600000, 1800000, 3600000, 86400000]::bigint[]) AS bucket
) placed
CROSS JOIN LATERAL (
  VALUES ('hour', date_trunc('hour', a.ended_at, 'UTC')), ('day', date_trunc('day', a.ended_at, 'UTC')),
    ('total', '-infinity'::timestamptz)
) AS s (span, at)
WHERE a.xact IS NULL AND a.pipeline <> '' AND (s.span <> 'hour' OR s.at > now() - interval '49 hours')
GROUP BY 1, 2, 3, 5, 6, 7;

-- The audit names the transaction of every entry, so the loop counts it from its beginning. Before the first move there was nothing.
INSERT INTO "figure_cursors" ("source", "xact", "row_id", "begins_at")
SELECT source, '0', 0, COALESCE((SELECT min("at") FROM "audit"), now()) FROM unnest(ARRAY['audit', 'attempts']) AS source;
