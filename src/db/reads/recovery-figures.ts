import { claimedState, isRests, rowOf, stagesIn, stateNamesOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { RecoveryFigures } from '../../core/recovery-figures.js';
import type { ScheduleRow } from '../../core/schedules.js';
import type { Sql } from '../../ports/sql.js';

type Pipelines = Readonly<Record<string, Pipeline>>;

/** The count of waiting items reads every live item, and all scrapes within this time share it. */
const QUEUED_KEPT_MS = 60_000;

/** Reads one figure after the other, because a scrape is in no hurry and must leave connections to requests. Each statement
 *  reads live rows, or the last minutes by an index, so its cost does not grow with the ended items. */
export function createRecoveryReader(
  sql: Sql,
  pipelines: Pipelines,
  schedules: readonly ScheduleRow[],
): () => Promise<RecoveryFigures> {
  const names = Object.keys(pipelines);
  const sweeps = schedules.flatMap(({ id, sweeps: pipeline }) => (pipeline === null ? [] : [{ id, pipeline }]));
  const scheduleIds = schedules.map(({ id }) => id);
  const stages = JSON.stringify(stagesToWaitFor(pipelines));
  let queued: { figures: RecoveryFigures['queued']; at: number } | null = null;

  async function readQueued(): Promise<RecoveryFigures['queued']> {
    if (queued === null || performance.now() - queued.at >= QUEUED_KEPT_MS) {
      queued = { figures: await rowsOf(sql, QUEUED, [stages]), at: performance.now() };
    }
    return queued.figures;
  }
  return async () => ({
    queued: await readQueued(),
    recoveries: await rowsOf(sql, RECOVERIES, []),
    failureRates: await rowsOf(sql, FAILURE_RATES, [names]),
    parked: await rowsOf(sql, PARKED, [names]),
    isolated: await rowsOf(sql, ISOLATED, [names]),
    sweeps: await rowsOf(sql, SWEEPS, [JSON.stringify(sweeps)]),
    leftOut: await rowsOf(sql, LEFT_OUT, [scheduleIds]),
  });
}

async function rowsOf<Row extends object>(sql: Sql, text: string, values: readonly unknown[]): Promise<Row[]> {
  return (await sql.query<Row>(text, values)).rows;
}

/** The stages that an item may wait for in a state, in order. An item that rests until it is claimed waits for the stages
 *  of the state that the claim moves it to. */
function stagesToWaitFor(pipelines: Pipelines): object[] {
  return Object.values(pipelines).flatMap((pipeline) =>
    stateNamesOf(pipeline).flatMap((state) => {
      const row = rowOf(pipeline, state);
      const claimed = isRests(row) ? claimedState(row) : undefined;
      const stages = stagesIn(claimed === undefined ? row : rowOf(pipeline, claimed));
      return stages.map(({ stage, fanOut }, place) => {
        return { pipeline: pipeline.name, state, stage, place, fans: fanOut !== undefined };
      });
    }),
  );
}

const UNITS = `FROM tasks u WHERE u.item_id = i.id AND u.visit = i.visit AND u.stage = s.stage AND u.unit <> ''
  AND u.status = ANY (ARRAY['waiting', 'running'])`;

/** An item waits for the first stage of its state that has not ended, unless a worker runs that stage. An item that a
 *  person has paused or parked waits for no worker. */
const QUEUED = `
  WITH stages AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS s (pipeline text, state text, stage text, place int, fans boolean)
  )
  SELECT i.pipeline, next.stage, sum(next.waiting)::int AS count FROM items i CROSS JOIN LATERAL (
    SELECT s.stage, CASE WHEN s.fans THEN (SELECT count(*) FILTER (WHERE u.status = 'waiting') ${UNITS})
      WHEN t.status = 'running' THEN 0 ELSE 1 END AS waiting
    FROM stages s
    LEFT JOIN tasks t ON NOT s.fans AND t.item_id = i.id AND t.visit = i.visit AND t.stage = s.stage AND t.unit = ''
    WHERE s.pipeline = i.pipeline AND s.state = i.state
      AND CASE WHEN s.fans THEN EXISTS (SELECT 1 ${UNITS}) ELSE COALESCE(t.status, 'waiting') = ANY (ARRAY['waiting', 'running']) END
    ORDER BY s.place LIMIT 1
  ) next
  WHERE i.ended_at IS NULL AND i.parked_at IS NULL AND (i.paused_until IS NULL OR i.paused_until <= now())
  GROUP BY i.pipeline, next.stage`;

/** By the hour and not since the beginning: receipts change their result, and old ones are deleted. */
const RECOVERIES = `
  SELECT pipeline, reason, result, count(*)::int AS count FROM receipts
  WHERE seen_at > now() - interval '1 hour' GROUP BY pipeline, reason, result`;

/** A verdict is no failure, and a cancelled item neither succeeded nor failed. */
const FAILURE_RATES = `
  SELECT pipeline, COALESCE(sum(count) FILTER (WHERE class = 'given_up'), 0)::float8 / sum(count)::float8 AS rate FROM figures
  WHERE span = 'hour' AND at >= date_trunc('hour', now(), 'UTC') - interval '1 hour'
    AND kind = 'end' AND class <> 'cancelled' AND pipeline = ANY ($1::text[])
  GROUP BY pipeline`;

const PARKED = `
  SELECT known.name AS pipeline, count(i.id)::int AS count FROM unnest($1::text[]) AS known (name)
  LEFT JOIN items i ON i.pipeline = known.name AND i.ended_at IS NULL AND i.parked_at IS NOT NULL
  GROUP BY known.name`;

/** Each count reads a small index: running tasks, tasks that ask for a place, and deaths of isolated processes. */
const ISOLATED = `
  SELECT known.name AS pipeline,
    (SELECT count(*)::int FROM tasks t JOIN items i ON i.id = t.item_id
      WHERE i.pipeline = known.name AND t.status = 'running' AND t.isolated) AS running,
    (SELECT count(*)::int FROM tasks t JOIN items i ON i.id = t.item_id AND i.visit = t.visit
      WHERE i.pipeline = known.name AND i.ended_at IS NULL AND i.parked_at IS NULL AND t.status = 'waiting'
        AND t.place_asked_at IS NOT NULL) AS waiting,
    (SELECT count(*)::int FROM attempts a
      WHERE a.pipeline = known.name AND a.own_death AND a.ended_at > now() - interval '1 hour') AS deaths
  FROM unnest($1::text[]) AS known (name)`;

/** Sweeps in a row that found nothing share one row. The row starts with the first of these sweeps, so the time that
 *  the last sweep took is read from its phases. */
const SWEEPS = `
  SELECT wanted.pipeline, extract(epoch FROM clock_timestamp() - latest.ended_at)::float8 AS "ageSeconds",
    (SELECT COALESCE(sum(ms::float8), 0) / 1000 FROM jsonb_each_text(latest.phases) AS phase (name, ms)) AS "durationSeconds",
    (latest.result ->> 'examined')::int AS examined,
    CASE WHEN (latest.result ->> 'isWhole')::boolean AND latest.errors = '[]' THEN latest.result -> 'byReason' END AS stuck
  FROM jsonb_to_recordset($1::jsonb) AS wanted (id text, pipeline text) CROSS JOIN LATERAL (
    SELECT ended_at, result, phases, errors FROM job_executions e
    WHERE e.job = wanted.id AND e.status = 'completed' ORDER BY id DESC LIMIT 1
  ) latest`;

const LEFT_OUT = `SELECT schedule, skipped, missed FROM schedule_counts WHERE schedule = ANY ($1::text[])`;
