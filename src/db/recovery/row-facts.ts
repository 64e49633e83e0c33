import { diagnose, type Hold, type ItemFacts, type RunningTask, type WaitingTask } from '../../core/diagnosis.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import type { Item, Task } from '../generated/client.js';
import { type Columns, fieldsOf } from '../postgres/fields-of.js';
import { countAskingBefore } from '../spine/claim/isolated-places.js';
import { HOLD_OF_ITEM } from '../spine/hold.js';
import { goneTimeOf } from './gone-worker.js';
import type { Cause } from './receipts.js';
import { REASON_HOLDS, type SweptReason } from './swept-reason.js';

export type ItemRecord = Omit<Item, 'pausedUntil'> & Pick<ItemFacts, 'pausedUntil'>;

/** An item and all facts in its rows about why it does not move, at one moment. */
export interface RowFacts {
  now: Date;
  item: ItemRecord;
  running: RunningTask | null;
  waiting: WaitingTask | null;
  hold: Hold | null;
  /** The finding of the last sweep, if it still holds. */
  swept: SweptReason | null;
}

export interface RowColumns {
  now: Date;
  facts: { item: Columns } & Record<'running' | 'waiting' | 'hold' | 'swept', Columns | null>;
}

/** Reads the facts of each row of a relation `i` of whole item rows: the table `items`, or rows that a statement has just written.
 *  An ended item may still have a task that is marked running. That attempt is a zombie and is no fact. */
export const ROW_FACTS = `now() AS now, json_build_object('item', to_jsonb(i), 'running', (
    SELECT to_jsonb(t) FROM (
      SELECT t.stage, t.unit, t.attempt, COALESCE(w.name, t.worker) AS worker, t.started_at, t.beat_at,
        ${goneTimeOf('w')} AS worker_gone_at
      FROM tasks t LEFT JOIN workers w ON w.id = t.worker
      WHERE i.ended_at IS NULL AND t.item_id = i.id AND t.visit = i.visit AND t.status = 'running'
      ORDER BY t.beat_at DESC, t.stage, t.unit LIMIT 1) t
  ), 'waiting', (
    SELECT to_jsonb(t) FROM (
      SELECT stage, unit, attempt, crashes, place_asked_at,
        CASE WHEN place_asked_at IS NOT NULL THEN ${countAskingBefore('tasks.place_asked_at')} END AS asked_before,
        retry_at, error_class, error_message
      FROM tasks WHERE i.ended_at IS NULL AND item_id = i.id AND visit = i.visit AND status = 'waiting'
      ORDER BY retry_at NULLS LAST, position LIMIT 1) t
  ), 'hold', CASE WHEN i.ended_at IS NULL THEN (SELECT to_jsonb(h) FROM (${HOLD_OF_ITEM}) h) END,
  'swept', CASE WHEN ${REASON_HOLDS} THEN json_build_object('reason', i.reason, 'at', i.reason_at, 'wedged_by', i.wedged_by) END) AS facts`;

export function rowFactsOf({ now, facts: { item, running, waiting, hold, swept } }: RowColumns): RowFacts {
  return {
    now,
    item: fieldsOf<ItemRecord>(item),
    running: running && runningTaskOf(fieldsOf(running)),
    waiting: waiting && waitingTaskOf(fieldsOf(waiting)),
    hold: hold && fieldsOf<Hold>(hold),
    swept: swept && fieldsOf<SweptReason>(swept),
  };
}

function runningTaskOf(task: Omit<RunningTask, 'startedAt' | 'beatAt'> & Pick<Task, 'startedAt' | 'beatAt'>) {
  // A claim writes both times; the columns are empty only before the first claim.
  const startedAt = task.startedAt ?? new Date(0);
  return { ...task, startedAt, beatAt: task.beatAt ?? startedAt };
}

function waitingTaskOf(task: Omit<WaitingTask, 'error'> & Pick<Task, 'errorClass' | 'errorMessage'>): WaitingTask {
  const { errorClass, errorMessage, ...rest } = task;
  return { ...rest, error: errorClass === null ? null : { class: errorClass, message: errorMessage ?? '' } };
}

/** Why a locked item has stopped, as far as its rows show. */
export async function causeOf(transaction: Sql, pipeline: Pipeline, item: { id: string }): Promise<Cause> {
  const { rows } = await transaction.query<RowColumns>(`SELECT ${ROW_FACTS} FROM items i WHERE i.id = $1`, [item.id]);
  const [row] = rows;
  if (!row) throw new Error(`item ${item.id} vanished while it was locked`);
  const { reason, sentence } = diagnose({ ...rowFactsOf(row), pipeline });
  return { reason, sentence };
}
