import { isDoes } from '../core/machine.js';
import type { Pipeline } from '../core/pipeline.js';
import type { Throughput } from '../core/queue-estimate.js';
import type { Sql } from '../ports/sql.js';

export interface Queued {
  id: string;
  owner: string;
  state: string;
  skillName: string;
  priority: number;
  createdAt: Date;
  /** From 1, over priority and then age. */
  position: number;
  /** Of the whole queue. */
  total: number;
}

/** What waits for a worker or is at one, in the order in which it is started; what waits for a person, or is parked, does not
 *  stand in line. Live rows are all that is read. */
const QUEUE = `
  SELECT id, owner, state, priority, created_at AS "createdAt",
    (row_number() OVER (ORDER BY priority DESC, id))::int AS position, (count(*) OVER ())::int AS total
  FROM items WHERE pipeline = $1 AND ended_at IS NULL AND state = ANY ($2) AND parked_at IS NULL`;

/** The first of the queue; of an owner, the first of theirs, at the place they have in it. */
export async function listQueued(
  sql: Sql,
  pipeline: Pipeline,
  { owner, limit }: { owner: string | null; limit: number },
): Promise<Queued[]> {
  const { rows } = await sql.query<Queued>(
    `SELECT queue.*, s.skill_name AS "skillName" FROM (
       SELECT * FROM (${QUEUE}) everybody WHERE $3::text IS NULL OR owner = $3 ORDER BY position LIMIT $4
     ) queue JOIN submissions s ON s.id = queue.id ORDER BY position`,
    [pipeline.name, automaticStates(pipeline), owner, limit],
  );
  return rows;
}

/** Null: it stands in no line. */
export async function findPosition(sql: Sql, pipeline: Pipeline, id: string): Promise<number | null> {
  const { rows } = await sql.query<{ position: number }>(
    `SELECT (SELECT count(*)::int FROM items
       WHERE pipeline = $1 AND ended_at IS NULL AND state = ANY ($2) AND parked_at IS NULL
         AND (priority > i.priority OR (priority = i.priority AND id <= i.id))) AS position
     FROM items i
     WHERE i.id = $3 AND i.pipeline = $1 AND i.ended_at IS NULL AND i.state = ANY ($2) AND i.parked_at IS NULL`,
    [pipeline.name, automaticStates(pipeline), id],
  );
  return rows[0]?.position ?? null;
}

/** From the hours that are rolled up anyway. */
export async function readThroughput(sql: Sql, pipeline: Pipeline): Promise<Throughput> {
  const { rows } = await sql.query<Throughput>(
    `SELECT COALESCE(sum(finished + failed), 0)::int AS ended,
       COALESCE(extract(epoch FROM now() - min(hour)) * 1000, 0)::float8 AS "overMs",
       (SELECT until FROM holds WHERE pipeline = $1 AND kind = 'pause' AND until > now()) AS "pausedUntil"
     FROM metrics_hourly WHERE pipeline = $1 AND hour > now() - interval '6 hours'`,
    [pipeline.name],
  );
  return rows[0] ?? { ended: 0, overMs: 0, pausedUntil: null };
}

export interface Shelf {
  parked: number;
  poison: number;
  exhausted: number;
}

/** More are counted as this many: nobody looks through a longer shelf. */
export const SHELF_CAP = 10_000;

/** What recovery has given up: parked, poison or exhausted. Verdicts are no failures. */
export async function countShelf(sql: Sql, pipeline: Pipeline): Promise<Shelf> {
  const { rows } = await sql.query<Shelf>(
    `SELECT
       (SELECT count(*)::int FROM (
          SELECT 1 FROM items WHERE pipeline = $1 AND ended_at IS NULL AND parked_at IS NOT NULL LIMIT $2) p) AS parked,
       ${endedBy('POISON')} AS poison, ${endedBy('STUCK_EXHAUSTED')} AS exhausted`,
    [pipeline.name, SHELF_CAP],
  );
  return rows[0] ?? { parked: 0, poison: 0, exhausted: 0 };
}

/** Said twice, so that the planner sees that the index of those holds it. */
function endedBy(reason: 'POISON' | 'STUCK_EXHAUSTED'): string {
  return `(SELECT count(*)::int FROM (
    SELECT 1 FROM items WHERE pipeline = $1 AND end_reason = '${reason}'
      AND end_reason = ANY (ARRAY['POISON'::text, 'STUCK_EXHAUSTED'::text]) LIMIT $2) e)`;
}

export interface Totals {
  received: number;
  finished: number;
  failed: number;
  timedOut: number;
}

/** Since the first day that is kept, from hours and days that were added up before. */
export async function readTotals(sql: Sql, pipeline: Pipeline): Promise<Totals> {
  const { rows } = await sql.query<Totals>(
    `SELECT COALESCE(sum(received), 0)::int AS received, COALESCE(sum(finished), 0)::int AS finished,
       COALESCE(sum(failed), 0)::int AS failed, COALESCE(sum(timed_out), 0)::int AS "timedOut"
     FROM (
       SELECT received, finished, failed, timed_out FROM metrics_hourly WHERE pipeline = $1
       UNION ALL SELECT received, finished, failed, timed_out FROM metrics_daily WHERE pipeline = $1
     ) kept`,
    [pipeline.name],
  );
  return rows[0] ?? { received: 0, finished: 0, failed: 0, timedOut: 0 };
}

function automaticStates(pipeline: Pipeline): string[] {
  return Object.entries(pipeline.states).flatMap(([state, row]) => (isDoes(row) ? [state] : []));
}
