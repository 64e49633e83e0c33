import { isAwaits, isDoes } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { LEVELS, levelOf } from '../../core/priority.js';
import type { Throughput } from '../../core/queue-estimate.js';
import type { Sql } from '../../ports/sql.js';
import { isPresent } from '../recovery/gone-worker.js';
import { literalOf } from '../spine/owner-room.js';

export interface Queued {
  id: string;
  owner: string;
  state: string;
  priority: number;
  createdAt: Date;
  isPaused: boolean;
  /** From 1, in the order of Temporal as far as the rows tell it. */
  position: number;
  /** The length of the whole queue, at most QUEUE_CAP. */
  total: number;
}

/** Positions are counted up to 10,000. The exact position behind that helps nobody. */
export const QUEUE_CAP = 10_000;

/** An item is in the queue while it waits for a worker or a worker runs it. An item that waits for a person, or is parked,
 *  is not. */
function queueCondition(pipeline: Pipeline): string {
  return `pipeline = ${literalOf(pipeline)} AND ended_at IS NULL AND parked_at IS NULL AND state = ANY ($1)`;
}

/** The items that a worker has. There are as many running tasks as places in all workers. */
const RUNNING = `running AS MATERIALIZED (SELECT DISTINCT item_id FROM tasks WHERE status = 'running')`;

/** The key of a priority's level, as SQL; the lowest key goes first. */
const LEVEL = `CASE ${LEVELS.map(({ key, from }) => (Number.isFinite(from) ? `WHEN priority >= ${from} THEN ${key}` : `ELSE ${key}`)).join(' ')} END`;

/** The first `limit` items of the queue, or of one owner's items, each with its position in the whole queue. Other owners' items
 *  beyond QUEUE_CAP are left out. The owner's own first items are not: their turn comes early, however many items others have. */
export async function listQueued(
  sql: Sql,
  pipeline: Pipeline,
  { owner, limit }: { owner: string | null; limit: number },
): Promise<Queued[]> {
  const { rows } = await sql.query<Queued>(
    `WITH ${RUNNING}, waiting AS (
       SELECT id, owner, state, priority, created_at, paused_until FROM items WHERE ${queueCondition(pipeline)}
     ), front AS MATERIALIZED (
       (SELECT * FROM waiting ORDER BY priority DESC, id LIMIT $2)
       UNION (SELECT * FROM waiting WHERE owner = $3 ORDER BY priority DESC, id LIMIT $4)
     ), queue AS (
       SELECT *, LEAST($2::int + 1, row_number() OVER (ORDER BY runs DESC, level, turn, id))::int AS position, LEAST($2::int, count(*) OVER ())::int AS total
       FROM (
         SELECT *, CASE WHEN runs THEN 0 ELSE row_number() OVER (PARTITION BY runs, level, owner ORDER BY id) END AS turn
         FROM (
           SELECT front.*, r.item_id IS NOT NULL AS runs, CASE WHEN r.item_id IS NULL THEN ${LEVEL} ELSE 0 END AS level
           FROM front LEFT JOIN running r ON r.item_id = front.id
         ) levelled
       ) taking_turns
     ), shown AS (SELECT * FROM queue WHERE $3::text IS NULL OR owner = $3 ORDER BY position LIMIT $4)
     SELECT id, owner, state, priority, created_at AS "createdAt", position, total, COALESCE(paused_until > now(), false) AS "isPaused"
     FROM shown ORDER BY position`,
    [automaticStates(pipeline), QUEUE_CAP, owner, limit],
  );
  return rows;
}

/** Position from 1. QUEUE_CAP + 1 means that position or a later one. Null: the item is not in the queue. */
export async function findPosition(sql: Sql, pipeline: Pipeline, id: string): Promise<number | null> {
  const { rows } = await sql.query<{ owner: string; priority: number; runs: boolean }>(
    `SELECT owner, priority, EXISTS (SELECT 1 FROM tasks t WHERE t.item_id = $2 AND t.status = 'running') AS runs
     FROM items WHERE ${queueCondition(pipeline)} AND id = $2`,
    [automaticStates(pipeline), id],
  );
  const [item] = rows;
  if (!item) return null;
  const before = item.runs ? countRunningBefore(pipeline) : countWaitingBefore(pipeline, levelOf(item.priority));
  const values = [automaticStates(pipeline), QUEUE_CAP, id, ...(item.runs ? [] : [item.owner])];
  const counted = await sql.query<{ before: number }>(before, values);
  return (counted.rows[0]?.before ?? 0) + 1;
}

function countRunningBefore(pipeline: Pipeline): string {
  return `WITH ${RUNNING} SELECT LEAST($2::int, ${countRunning(pipeline, 'id < $3')})::int AS before`;
}

/** One look for each running task: OFFSET keeps the planner from walking the whole queue for them. */
function countRunning(pipeline: Pipeline, condition: string): string {
  return `(SELECT count(*) FROM running r, LATERAL (
      SELECT 1 FROM items WHERE id = r.item_id AND ${queueCondition(pipeline)} AND ${condition} OFFSET 0) item)`;
}

/** What runs already, the higher levels, and of its level the items whose turn comes before: an owner's first item comes before every
 *  owner's second. */
function countWaitingBefore(pipeline: Pipeline, { from, below }: { from: number; below: number }): string {
  const waiting = `${queueCondition(pipeline)} AND id NOT IN (SELECT item_id FROM running)`;
  // Subqueries hide the numbers from the planner: it counts the ended items of priority 0 in and walks all live items.
  const lowest = Number.isFinite(from) ? `priority >= (SELECT ${from})` : 'true';
  const inLevel = Number.isFinite(below) ? `${lowest} AND priority < (SELECT ${below})` : lowest;
  const higher = Number.isFinite(below) ? `priority >= ${below}` : 'false';
  const count = (condition: string): string =>
    `(SELECT count(*) FROM (SELECT 1 FROM items WHERE ${condition} LIMIT $2) counted)`;
  return `WITH ${RUNNING}, own AS MATERIALIZED (
      SELECT ${count(`${waiting} AND ${inLevel} AND owner = $4 AND id < $3`)} + 1 AS turn
    ), front AS MATERIALIZED (
      SELECT id, row_number() OVER (PARTITION BY owner ORDER BY id) AS turn FROM (
        SELECT id, owner FROM items WHERE ${waiting} AND ${inLevel} ORDER BY priority DESC, id LIMIT $2) first
    )
    SELECT LEAST($2::int, ${countRunning(pipeline, 'true')} + ${count(`${waiting} AND ${higher}`)}
      + (SELECT count(*) FROM front, own WHERE front.turn < own.turn OR (front.turn = own.turn AND front.id < $3)))::int AS before`;
}

/** The newest items that the median is computed from. */
const SAMPLE = 100;

/** Reads items whose automatic work ended lately. Stages may overlap, so each stage adds only the time that no earlier
 *  stage covers. */
export async function readThroughput(sql: Sql, pipeline: Pipeline): Promise<Throughput> {
  const { rows } = await sql.query<ThroughputRow>(
    `WITH latest AS MATERIALIZED (
       SELECT id FROM (
         SELECT id, ended_at AS at FROM items WHERE pipeline = $1 AND ended_at IS NOT NULL ORDER BY id DESC LIMIT $2) ended
       WHERE at > now() - interval '6 hours'
       UNION ALL
       SELECT waits.id FROM unnest($3::text[]) AS awaiting (state) CROSS JOIN LATERAL (
         SELECT id, entered_at FROM items i
         WHERE pipeline = $1 AND i.state = awaiting.state AND ended_at IS NULL ORDER BY id DESC LIMIT $2) waits
       WHERE entered_at > now() - interval '6 hours'
     ), steps AS (
       SELECT t.item_id, t.started_at, t.ended_at, max(t.ended_at) OVER (
         ORDER BY t.started_at, t.ended_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_to
       FROM latest l JOIN tasks t ON t.item_id = l.id
       WHERE t.status IN ('done', 'failed') AND t.started_at > now() - interval '6 hours' AND t.ended_at IS NOT NULL
     ), each AS (
       SELECT extract(epoch FROM sum(ended_at - started_at)) * 1000 AS work_ms,
         sum(greatest(0, extract(epoch FROM ended_at - greatest(started_at, covered_to)))) * 1000 AS busy_ms
       FROM steps GROUP BY item_id
     )
     SELECT count(*)::int AS "sampleSize", COALESCE(percentile_cont(0.5) WITHIN GROUP (ORDER BY work_ms), 0)::float8 AS "typicalMs",
       COALESCE(sum(work_ms), 0)::float8 AS "workMs", COALESCE(sum(busy_ms), 0)::float8 AS "busyMs",
       (SELECT until FROM holds WHERE pipeline = $1 AND kind = 'pause' AND until > now()) AS "pausedUntil",
       (SELECT max(next_pass_at) FROM breakers WHERE pipeline = $1 AND state <> 'closed') AS "nextPassAt",
       (SELECT count(*)::int FROM workers WHERE ${isPresent('workers')} AND $1 = ANY (pipelines)) AS workers
     FROM each`,
    [pipeline.name, SAMPLE, awaitingStates(pipeline)],
  );
  const [row] = rows;
  if (!row) throw new Error('an aggregate has one row');
  const { nextPassAt, ...throughput } = row;
  return { ...throughput, breaker: nextPassAt && { nextPassAt } };
}

interface ThroughputRow extends Omit<Throughput, 'breaker'> {
  nextPassAt: Date | null;
}

/** The length of the queue, at most QUEUE_CAP. */
export async function countQueued(sql: Sql, pipeline: Pipeline): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM (SELECT 1 FROM items WHERE ${queueCondition(pipeline)} LIMIT $2) queue`,
    [automaticStates(pipeline), QUEUE_CAP],
  );
  return rows[0]?.count ?? 0;
}

export interface OpenBreaker {
  class: string;
  state: 'open' | 'releasing';
  nextPassAt: Date;
  /** Items that wait for a stage that the breaker holds, at most QUEUE_CAP. */
  waiting: number;
}

/** The breakers that hold items back. While no breaker does, no item is counted. */
export async function listHolding(sql: Sql, pipeline: Pipeline): Promise<OpenBreaker[]> {
  const { rows } = await sql.query<OpenBreaker>(
    `SELECT b.class, b.state, b.next_pass_at AS "nextPassAt", (
       SELECT count(*)::int FROM (
         SELECT 1 FROM items i WHERE ${queueCondition(pipeline)} AND EXISTS (
           SELECT 1 FROM tasks t
           WHERE t.item_id = i.id AND t.visit = i.visit AND t.status = 'waiting' AND t.stage = ANY (b.stages))
         LIMIT $2) held) AS waiting
     FROM breakers b WHERE b.pipeline = $3 AND b.state <> 'closed' ORDER BY b.class`,
    [automaticStates(pipeline), QUEUE_CAP, pipeline.name],
  );
  return rows;
}

export interface Shelf {
  parked: number;
  poison: number;
  exhausted: number;
}

/** The count stops here. */
export const SHELF_CAP = 10_000;

/** The items that recovery has given up: parked, poison or exhausted. Verdicts are no failures. */
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

/** The condition repeats the index predicate, because the planner does not infer it. */
function endedBy(reason: 'POISON' | 'STUCK_EXHAUSTED'): string {
  return `(SELECT count(*)::int FROM (
    SELECT 1 FROM items WHERE pipeline = $1 AND end_reason = '${reason}'
      AND end_reason = ANY (ARRAY['POISON'::text, 'STUCK_EXHAUSTED'::text]) LIMIT $2) e)`;
}

function automaticStates(pipeline: Pipeline): string[] {
  return Object.entries(pipeline.states).flatMap(([state, row]) => (isDoes(row) ? [state] : []));
}

function awaitingStates(pipeline: Pipeline): string[] {
  return Object.entries(pipeline.states).flatMap(([state, row]) => (isAwaits(row) ? [state] : []));
}
