import { edgesOf, isEnd, rowOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';

type Pipelines = Readonly<Record<string, Pipeline>>;

/** Every transaction below the horizon has ended, so no more rows come from it. */
const HORIZON = 'pg_snapshot_xmin(pg_current_snapshot())';

/** The limit counts the rows that are read, not the rows that are counted: after a restore all rows of the former database lie before
 *  `since`, and one statement must not walk through all of them. */
function pageOf(columns: string, table: string, at: string): string {
  return `read_rows AS MATERIALIZED (
    SELECT xact, id, ${columns}, ${at} AS at FROM ${table}
    WHERE (xact, id) > ($1::xid8, $2::bigint) AND xact < ${HORIZON}
    ORDER BY xact, id LIMIT $4
  ), page AS MATERIALIZED (SELECT * FROM read_rows WHERE at >= COALESCE($3::timestamptz, '-infinity'))`;
}

function msBetween(from: string, to: string): string {
  return `greatest(0, round(extract(epoch FROM ${to} - ${from}) * 1000))::bigint`;
}

/** An older version classes a crash as a timeout. Attempts of versions before `attempts.pipeline` belong to no pipeline. */
export const ATTEMPTS = `${pageOf('pipeline, stage, outcome, result, error_class, started_at', 'attempts', 'ended_at')}, counted AS (
    SELECT pipeline, 'attempt' AS kind, stage, COALESCE(outcome, result) AS outcome, at, ${msBetween('started_at', 'at')} AS ms,
      CASE result WHEN 'crash' THEN 'WORKER_CRASH' WHEN 'error' THEN COALESCE(error_class, 'UNKNOWN') ELSE '' END AS class
    FROM page WHERE pipeline <> ''
  )`;

/** Entries that change a flag (from = to) are no moves. An item's end is timed from the first entry of its visit, because a
 *  reopened item would otherwise bring along the months that it rested. An item that was given up for its input has got its
 *  verdict: the attempt of the same transaction says so. Attempts of versions before `attempts.xact` are known by their time. */
export const MOVES = `${pageOf('item_id, pipeline, visit, from_state, to_state, trigger, actor_type', 'audit', 'at')},
  ends AS (SELECT * FROM jsonb_to_recordset($7::jsonb) AS e (pipeline text, state text)),
  giving_up AS (SELECT * FROM jsonb_to_recordset($8::jsonb) AS g (pipeline text, "from" text, "to" text, trigger text)),
  moves AS (
    SELECT p.*, CASE
        WHEN from_state IS NULL THEN 'created'
        WHEN trigger = 'cancelled' THEN 'cancelled'
        WHEN ended.badly AND NOT EXISTS (
          SELECT 1 FROM attempts a WHERE a.item_id = p.item_id AND a.error_class = 'BAD_INPUT'
            AND (a.xact = p.xact OR (a.xact IS NULL AND a.ended_at = p.at))) THEN 'given_up'
        WHEN actor_type IN ('user', 'reviewer', 'admin') THEN 'decided'
        ELSE '' END AS class
    FROM page p CROSS JOIN LATERAL (SELECT EXISTS (
      SELECT 1 FROM giving_up g
      WHERE g.pipeline = p.pipeline AND g."from" = p.from_state AND g."to" = p.to_state AND g.trigger = p.trigger) AS badly) ended
    WHERE from_state IS DISTINCT FROM to_state
  ), counted AS (
    SELECT m.pipeline, 'move' AS kind, COALESCE(from_state, '') AS stage, to_state AS outcome, class, m.at,
      COALESCE(${msBetween('before.at', 'm.at')}, 0) AS ms
    FROM moves m LEFT JOIN LATERAL (
      SELECT b.at FROM audit b WHERE b.item_id = m.item_id AND b.id < m.id AND b.from_state IS DISTINCT FROM b.to_state
      ORDER BY b.id DESC LIMIT 1) before ON true
    UNION ALL
    SELECT m.pipeline, 'end', '', to_state, class, m.at, ${msBetween('begun.at', 'm.at')}
    FROM moves m JOIN ends e ON e.pipeline = m.pipeline AND e.state = m.to_state
    CROSS JOIN LATERAL (
      SELECT b.at FROM audit b WHERE b.item_id = m.item_id AND b.visit = m.visit ORDER BY b.id LIMIT 1) begun
  )`;

export function endsOf(pipelines: Pipelines): { pipeline: string; state: string }[] {
  return Object.values(pipelines).flatMap(({ name, states }) =>
    Object.entries(states).flatMap(([state, row]) => (isEnd(row) ? { pipeline: name, state } : [])),
  );
}

/** The moves by which an item ends because its tries were spent or recovery gave it up. */
export function givingUpOf(pipelines: Pipelines): { pipeline: string; from: string; to: string; trigger: string }[] {
  return Object.values(pipelines).flatMap((pipeline) =>
    edgesOf(pipeline)
      .filter(({ via, to }) => (via === 'spent' || via === 'exhaustion') && isEnd(rowOf(pipeline, to)))
      .flatMap(({ from, to, trigger, via }) => {
        const move = { pipeline: pipeline.name, from, to, trigger };
        return via === 'exhaustion' ? [move, { ...move, trigger: 'poison' }] : [move];
      }),
  );
}
