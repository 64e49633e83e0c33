import type pg from 'pg';
import { claimedState, isAwaits, isEnd, isRests, rowOf, stateNamesOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { msOf } from '../../core/span.js';
import type { Sql } from '../../ports/sql.js';
import type { Parameters } from '../postgres/parameters.js';
import { ROW_FACTS, type RowColumns, type RowFacts, rowFactsOf } from './row-facts.js';
import { REASON_HOLDS } from './swept-reason.js';

/** A stuck item as it was seen. */
export interface StuckRow {
  id: string;
  owner: string;
  visit: number;
  epoch: number;
  version: number;
  facts: RowFacts;
}

function stuckRowOf(row: RowColumns): StuckRow {
  const facts = rowFactsOf(row);
  const { id, owner, visit, epoch, version } = facts.item;
  return { id, owner, visit, epoch, version, facts };
}

/** Takes one page of stuck items: items that are silent for too long by the database's clock, or whose run has reported
 *  its end and whose backoff is over. Items that were examined longest ago come first, so that a sweep goes on where an
 *  unfinished sweep stopped. An item that another transaction is writing is not stuck, and is skipped. The statement
 *  reads only the index of live rows, and stamps only stuck rows: healthy rows are not written. */
export async function takeStuck(
  pool: pg.Pool,
  pipeline: Pipeline,
  page: { startedAt: string; limit: number },
): Promise<StuckRow[]> {
  const stuckAfterMs = msOf(pipeline.sweep.stuckAfter);
  const values = [pipeline.name, page.startedAt, page.limit, waitingStates(pipeline), stuckAfterMs];
  const { rows } = await pool.query<RowColumns>(TAKE_STUCK, values);
  return rows.map(stuckRowOf);
}

/** The states in which silence is expected. A state that the table no longer has is not among them, so that a person
 *  hears of its items. */
function waitingStates(pipeline: Pipeline): string[] {
  return stateNamesOf(pipeline).filter((state) => {
    const row = rowOf(pipeline, state);
    return isAwaits(row) || (isRests(row) && claimedState(row) === undefined);
  });
}

/** Whether a row of items, named `i`, is stuck. `states` are the states in which silence is expected. */
function isStuck(i: string, states: string, stuckAfterMs: string): string {
  const silentSince = `now() - ${stuckAfterMs} * interval '1 millisecond'`;
  return `${i}.parked_at IS NULL AND (${i}.paused_until IS NULL OR ${i}.paused_until <= now()) AND ${i}.state <> ALL (${states}::text[])
      AND CASE WHEN ${i}.run_ended_at IS NOT NULL THEN ${i}.next_rescue_after IS NULL OR ${i}.next_rescue_after <= now()
        ELSE ${i}.beat_at <= ${silentSince} AND NOT EXISTS (
          SELECT 1 FROM tasks t WHERE t.item_id = ${i}.id AND t.visit = ${i}.visit AND t.status = 'running'
            AND t.beat_at > ${silentSince}) END`;
}

/** The condition that a row `i` of the pipeline is stuck, for a statement that has conditions of its own. It names the states that a run
 *  drives one by one, so that an index by owner and state can be used. */
export function stuckCondition(pipeline: Pipeline, p: Parameters): string {
  const waiting = waitingStates(pipeline);
  const driven = stateNamesOf(pipeline).filter((state) => !isEnd(rowOf(pipeline, state)) && !waiting.includes(state));
  const stuck = isStuck('i', p.add(waiting), p.add(msOf(pipeline.sweep.stuckAfter)));
  return `i.pipeline = ${p.add(pipeline.name)} AND i.ended_at IS NULL AND i.state = ANY (${p.add(driven)}::text[]) AND ${stuck}`;
}

/** Reads the stuck items that stopped longest ago, without taking them. `swept`: the reason that the last sweep found. */
export async function listStuck(
  sql: Sql,
  pipeline: Pipeline,
  { limit, swept }: { limit: number; swept?: string | undefined },
): Promise<StuckRow[]> {
  const ofReason = swept === undefined ? '' : `AND i.reason = $5 AND ${REASON_HOLDS}`;
  const { rows } = await sql.query<RowColumns>(
    `SELECT ${ROW_FACTS} FROM (
       SELECT * FROM items i WHERE i.pipeline = $1 AND i.ended_at IS NULL AND ${isStuck('i', '$2', '$3')} ${ofReason}
       ORDER BY i.beat_at, i.id LIMIT $4
     ) i ORDER BY i.beat_at, i.id`,
    [
      pipeline.name,
      waitingStates(pipeline),
      msOf(pipeline.sweep.stuckAfter),
      limit,
      ...(swept === undefined ? [] : [swept]),
    ],
  );
  return rows.map(stuckRowOf);
}

/** The stamp is never earlier than the sweep's beginning, whichever clock that came from, so that no page takes a row
 *  twice. The UPDATE repeats the conditions on pipeline and end, because with them the planner joins live rows instead
 *  of the whole table. */
export const TAKE_STUCK = `
  WITH stuck AS (
    SELECT id AS stuck_id FROM items
    WHERE pipeline = $1 AND ended_at IS NULL AND (examined_at IS NULL OR examined_at < $2::timestamptz)
      AND ${isStuck('items', '$4', '$5')}
    ORDER BY examined_at NULLS FIRST, id LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
  ), i AS (
    UPDATE items SET examined_at = greatest(now(), $2::timestamptz) FROM stuck
    WHERE id = stuck_id AND pipeline = $1 AND ended_at IS NULL RETURNING items.*
  )
  SELECT ${ROW_FACTS} FROM i ORDER BY i.id`;

/** The row of a run that Temporal holds open. */
export interface RunRow {
  itemId: string;
  epoch: number;
  /** How long ago the item ended; null: it is live. */
  endedForMs: number | null;
}

/** The rows of these items. An item without a row is not in the map. */
export async function findRunRows(pool: pg.Pool, itemIds: readonly string[]): Promise<Map<string, RunRow>> {
  const { rows } = await pool.query<RunRow>(
    `SELECT id AS "itemId", epoch, extract(epoch FROM now() - ended_at)::float8 * 1000 AS "endedForMs"
     FROM items WHERE id = ANY ($1::uuid[])`,
    [itemIds],
  );
  return new Map(rows.map((row) => [row.itemId, row]));
}

/** Those of the items without a row that were deleted here: the audit has entries of them. */
export async function findDeleted(pool: pg.Pool, itemIds: readonly string[]): Promise<Set<string>> {
  if (itemIds.length === 0) return new Set();
  const { rows } = await pool.query<{ itemId: string }>(
    `SELECT id AS "itemId" FROM unnest($1::uuid[]) AS asked (id)
     WHERE EXISTS (SELECT 1 FROM audit WHERE item_id = asked.id)`,
    [itemIds],
  );
  return new Set(rows.map(({ itemId }) => itemId));
}
