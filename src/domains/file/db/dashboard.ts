import type { Pipeline } from '../../../core/pipeline.js';
import { Parameters } from '../../../db/postgres/parameters.js';
import type { Sql } from '../../../ports/sql.js';
import { stuckFileCondition } from './stuck-files.js';

export interface RecentError {
  fileId: string;
  fileName: string;
  error: string;
  timestamp: string;
}

export interface FileFigures {
  /** States without files are missing. */
  states: Record<string, number>;
  activeBatches: number;
  parked: number;
  stuck: number;
  recentErrors: RecentError[];
  /** Null: no file is ready. */
  averageMs: number | null;
  ready24h: number;
  failed24h: number;
}

const ERRORS_SHOWN = 10;

/** Files whose processing times are averaged. */
const AVERAGED = 100;

/** The figures of an owner's files in one statement, whose parts each read an index by the owner. `owner` null: of all files. */
export async function readFileFigures(sql: Sql, pipeline: Pipeline, owner: string | null): Promise<FileFigures> {
  const { text, values } = figuresStatement(pipeline, owner);
  const { rows } = await sql.query<FileFigures>(text, values);
  const [figures] = rows;
  if (!figures) throw new Error('the figures of files have no row');
  return figures;
}

/** Exported for the benchmark, which holds the route against the bare statement. */
function figuresStatement(pipeline: Pipeline, owner: string | null): { text: string; values: unknown[] } {
  const p = new Parameters();
  const own = owner === null ? null : p.add(owner);
  const isFile = `i.pipeline = 'file'${own === null ? '' : ` AND i.owner = ${own}`}`;
  const isOwn = (table: string) => (own === null ? 'true' : `${table}.owner = ${own}`);
  // The index by owner has the time of the last move, and the index of all owners the time of the end, which are the same.
  const [endedAt, hasEnded] = own === null ? ['i.ended_at', 'AND i.ended_at IS NOT NULL'] : ['i.updated_at', ''];
  const ended = (state: string) => `${isFile} AND i.state = '${state}' ${hasEnded}`;
  const ended24h = (state: string) =>
    `(SELECT count(*)::int FROM items i WHERE ${ended(state)} AND ${endedAt} >= now() - interval '24 hours')`;
  const last = (state: string, limit: number) =>
    `(SELECT i.* FROM items i WHERE ${ended(state)} ORDER BY ${endedAt} DESC LIMIT ${limit}) i JOIN files f ON f.id = i.id`;
  const text = `SELECT coalesce((SELECT json_object_agg(state, count) FROM (
      SELECT state, sum(count)::int AS count FROM (
        SELECT i.state, count(*) AS count FROM items i WHERE ${isFile} GROUP BY i.state
        UNION ALL
        SELECT i.state, -count(*) FROM files f JOIN items i ON i.id = f.id
        WHERE f.deleting_at IS NOT NULL AND ${isOwn('f')} GROUP BY i.state
      ) counted GROUP BY state) summed), '{}') AS states,
    (SELECT count(*)::int FROM upload_batches b WHERE b.status = 'active' AND ${isOwn('b')}) AS "activeBatches",
    (SELECT count(*)::int FROM items i WHERE ${stuckFileCondition(pipeline, owner, p)}) AS stuck,
    (SELECT count(*)::int FROM items i WHERE ${isFile} AND i.ended_at IS NULL AND i.parked_at IS NOT NULL
      AND i.state = ANY (ARRAY['registered', 'uploaded', 'queued', 'extracting', 'chunking', 'embedding'])) AS parked,
    coalesce((SELECT json_agg(json_build_object('fileId', e.id, 'fileName', e.name, 'error', e.error, 'timestamp', e.at) ORDER BY e.at DESC)
      FROM (SELECT i.id, f.name, coalesce(i.error_message, i.end_reason, 'unknown') AS error, i.ended_at AS at
        FROM ${last('failed', ERRORS_SHOWN)} WHERE f.deleting_at IS NULL) e), '[]') AS "recentErrors",
    (SELECT avg(extract(epoch FROM i.ended_at - coalesce(f.confirmed_at, f.created_at)) * 1000)::float8
      FROM ${last('ready', AVERAGED)}) AS "averageMs",
    ${ended24h('ready')} AS "ready24h", ${ended24h('failed')} AS "failed24h"`;
  return { text, values: p.values };
}

/** Changes with every move of the owner's files: a look at the end of the index, once for each state. */
export async function readStamp(sql: Sql, pipeline: Pipeline, owner: string): Promise<string> {
  const { rows } = await sql.query<{ stamp: string }>(
    `SELECT coalesce(max(newest.updated_at)::text, '') AS stamp FROM unnest($2::text[]) AS states (name),
       LATERAL (SELECT i.updated_at FROM items i WHERE i.pipeline = 'file' AND i.owner = $1 AND i.state = states.name
         ORDER BY i.updated_at DESC LIMIT 1) newest`,
    [owner, Object.keys(pipeline.states)],
  );
  return rows[0]?.stamp ?? '';
}

export interface Abandoned {
  count: number;
  /** Null: there is none. */
  oldestAgeMs: number | null;
}

/** Files that have waited for their upload for so long. */
export async function readAbandoned(sql: Sql, owner: string | null, abandonedAfterMs: number): Promise<Abandoned> {
  const p = new Parameters();
  // With the condition that they live, the planner might walk the index of the live files of all owners.
  const isOwn = owner === null ? 'i.ended_at IS NULL' : `i.owner = ${p.add(owner)}`;
  const { rows } = await sql.query<Abandoned>(
    `SELECT count(*)::int AS count, round(extract(epoch FROM now() - min(i.created_at)) * 1000)::float8 AS "oldestAgeMs"
     FROM items i
     WHERE i.pipeline = 'file' AND i.state = 'registered' AND ${isOwn}
       AND i.id NOT IN (SELECT d.id FROM files d WHERE d.deleting_at IS NOT NULL)
       AND i.created_at < now() - ${p.add(abandonedAfterMs)} * interval '1 millisecond'`,
    p.values,
  );
  return rows[0] ?? { count: 0, oldestAgeMs: null };
}
