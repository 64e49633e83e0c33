import type pg from 'pg';
import type { Pipeline } from '../../core/pipeline.js';
import type { RunRef } from '../../core/run.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import type { ItemRow } from '../spine/item-row.js';
import { handOver, idleCondition, waitingStates } from '../spine/restart.js';
import { moveLocked, SYSTEM } from '../spine/transition.js';
import { isPresent } from './gone-worker.js';

/** Of the audit entries. */
const TRIGGER = 'queue-renewed';

export interface RenewedPage {
  /** The runs that were replaced. */
  replaced: RunRef[];
  isLast: boolean;
}

interface Cursor {
  pipeline: string;
  id: string;
}

/** Starts the runs of the next items anew that wait for a worker. Temporal keeps its queues in other tables once it knows turns, and
 *  hands out nothing that was put into the former tables. The page and the note of how far the pages have come are one transaction,
 *  so that a process that dies half-way leaves no item to be started twice. Null: all pages are done, or another process is at one. */
export async function renewPage(
  pool: pg.Pool,
  pipelines: Readonly<Record<string, Pipeline>>,
  limit: number,
): Promise<RenewedPage | null> {
  return inTransaction(pool, async (transaction) => {
    const cursor = await lockCursor(transaction);
    if (!cursor) return null;
    const items = await takeWaiting(transaction, pipelines, cursor, limit);
    const replaced: RunRef[] = [];
    for (const item of items) {
      const pipeline = pipelines[item.pipeline];
      if (!pipeline) continue;
      await handOver(transaction, item);
      const { state } = item;
      await moveLocked(transaction, pipeline, item, {
        ...{ from: state, to: state, via: 'restart', trigger: TRIGGER, actor: SYSTEM },
      });
      replaced.push({ pipeline: item.pipeline, itemId: item.id, epoch: item.epoch });
    }
    const last = items.length === limit ? items.at(-1) : undefined;
    await keepCursor(transaction, last);
    return { replaced, isLast: !last };
  });
}

/** The lock lets one process at a time turn a page. */
async function lockCursor(transaction: Sql): Promise<Cursor | undefined> {
  const { rows } = await transaction.query<Cursor>(
    `SELECT COALESCE(renewed_to_pipeline, '') AS pipeline, COALESCE(renewed_to, '00000000-0000-0000-0000-000000000000') AS id
     FROM installation WHERE queues_renewed_at IS NULL FOR UPDATE SKIP LOCKED`,
  );
  return rows[0];
}

async function keepCursor(transaction: Sql, last: Pick<ItemRow, 'id' | 'pipeline'> | undefined): Promise<void> {
  await transaction.query(
    `UPDATE installation SET renewed_to_pipeline = $1, renewed_to = $2,
       queues_renewed_at = CASE WHEN $2::uuid IS NULL THEN now() END`,
    [last?.pipeline ?? null, last?.id ?? null],
  );
}

type WaitingItem = Pick<ItemRow, 'id' | 'pipeline' | 'state' | 'visit' | 'epoch'>;

/** Besides the items that wait for a worker: those whose run has been woken and has not looked at its row since, and those whose start
 *  nobody has noted, because its task may be in the former tables too. A row that somebody writes at this moment is waited for. A stage
 *  that runs is left alone. Where some units of an item run and others wait, the running ones begin again in the new run. */
async function takeWaiting(
  transaction: Sql,
  pipelines: Readonly<Record<string, Pipeline>>,
  cursor: Cursor,
  limit: number,
): Promise<WaitingItem[]> {
  const states = Object.entries(pipelines).flatMap(([name, pipeline]) =>
    waitingStates(pipeline).map((state) => `${name}:${state}`),
  );
  const isBusy = `EXISTS (SELECT 1 FROM workers w WHERE w.id = t.worker AND ${isPresent('w')})`;
  const { rows } = await transaction.query<WaitingItem>(
    `SELECT i.id, i.pipeline, i.state, i.visit, i.epoch FROM items i
     WHERE i.ended_at IS NULL AND (i.pipeline, i.id) > ($1, $2::uuid) AND i.pipeline = ANY ($3)
       AND CASE WHEN i.started THEN i.wake_after IS NOT NULL OR i.pipeline || ':' || i.state = ANY ($4)
           ELSE i.start_after IS NOT NULL END
       AND (${idleCondition(isBusy)} OR ${HAS_WAITING_UNIT})
     ORDER BY i.pipeline, i.id LIMIT $5 FOR NO KEY UPDATE OF i`,
    [cursor.pipeline, cursor.id, Object.keys(pipelines), states, limit],
  );
  return rows;
}

/** Whether a unit of an item named `i` has not been handed to a worker. */
const HAS_WAITING_UNIT = `(i.run_ended_at IS NULL AND i.parked_at IS NULL AND EXISTS (
      SELECT 1 FROM tasks t WHERE t.item_id = i.id AND t.visit = i.visit AND t.unit <> '' AND t.status = 'waiting'
        AND (t.retry_at IS NULL OR t.retry_at <= now())))`;
