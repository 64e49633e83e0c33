import type pg from 'pg';
import { AppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { RunStart } from '../../core/run.js';
import type { Sql } from '../../ports/sql.js';
import { assertAsSeen, changeItem, noteOf, type Request, type SeenItem } from '../spine/control.js';
import type { ItemRow } from '../spine/item-row.js';
import { firstStepOf, runStartOf } from '../spine/items.js';
import { type Cause, writeReceipt } from './receipts.js';

/** Writes the receipt and the audit entry of a run that Temporal never had, or lost before a worker took it up. Returns the input to
 *  start the run with. Call it before the start, because the first claim completes the receipt and may come at once. */
export async function recordLostStart(
  pool: pg.Pool,
  pipeline: Pipeline,
  request: Request & SeenItem & { cause: Cause },
): Promise<RunStart> {
  const { cause, actor } = request;
  const seen = await changeItem(
    pool,
    () => pipeline,
    request,
    async (_, item, transaction) => {
      assertAsSeen(item, request);
      if (item.started || item.endedAt) throw new AppError('state_conflict', `item ${item.id} has been taken up since`);
      if (await wasAcceptedSince(transaction, item, cause)) {
        throw new AppError('state_conflict', `item ${item.id} has been started since`);
      }
      // A rescue whose run was lost already has a receipt and an entry. Starting the run again writes no others.
      if (await isReceiptOpen(transaction, item)) return null;
      await writeReceipt(transaction, { item, epoch: item.epoch, cause, actor, result: 'waiting' });
      const step = firstStepOf(pipeline, item);
      if (step.do === 'stage') await markRecovering(transaction, item, step.stage);
      const { reason: stopped, sentence } = cause;
      return { ...noteOf(item, 'rescue', actor), metadata: { stopped, sentence } };
    },
  );
  return runStartOf(pipeline, seen);
}

/** Whether the dispatcher started the run after the sweep looked. Then no start was lost. */
async function wasAcceptedSince(transaction: Sql, { id }: ItemRow, { seenAt }: Cause): Promise<boolean> {
  const { rows } = await transaction.query('SELECT 1 FROM items WHERE id = $1 AND accepted_at >= $2', [id, seenAt]);
  return rows.length > 0;
}

async function isReceiptOpen(transaction: Sql, { id, epoch }: ItemRow): Promise<boolean> {
  const { rows } = await transaction.query(
    `SELECT 1 FROM receipts WHERE item_id = $1 AND epoch = $2 AND stage IS NULL AND moving_at IS NULL AND result = 'waiting' LIMIT 1`,
    [id, epoch],
  );
  return rows.length > 0;
}

/** Marks the first task, so that its claim looks for an open receipt. The claims of a first run do not look
 *  otherwise. */
async function markRecovering(transaction: Sql, { id, visit }: ItemRow, stage: string): Promise<void> {
  await transaction.query(
    `INSERT INTO tasks (item_id, visit, stage, recovering) VALUES ($1, $2, $3, true)
     ON CONFLICT (item_id, visit, stage, unit) DO UPDATE SET recovering = true`,
    [id, visit, stage],
  );
}
