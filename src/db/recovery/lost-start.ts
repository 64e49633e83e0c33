import type pg from 'pg';
import { AppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { RunInput } from '../../core/run.js';
import type { Sql } from '../../ports/sql.js';
import { assertAsSeen, change, type Request, type Seen } from '../spine/control.js';
import type { ItemRow } from '../spine/item-row.js';
import { firstStepOf } from '../spine/items.js';
import { type Cause, writeReceipt } from './receipts.js';

/** Writes the receipt of a run that Temporal never had, or lost before anybody took it up, and says how it is started. Called
 *  before it is: the claim that is granted completes the receipt, and may come at once. */
export async function recordLostStart(
  pool: pg.Pool,
  pipeline: Pipeline,
  request: Request & Seen & { cause: Cause },
): Promise<RunInput> {
  const { cause, actor } = request;
  const seen = await change(
    pool,
    () => pipeline,
    request,
    async (_, item, transaction) => {
      assertAsSeen(item, request);
      if (item.started || item.endedAt) throw new AppError('state_conflict', `item ${item.id} has been taken up since`);
      if (await wasAcceptedSince(transaction, item, cause)) {
        throw new AppError('state_conflict', `item ${item.id} has been started since`);
      }
      // A rescue whose run is lost, or one that was lost before, is one recovery: it has its receipt.
      if (await isReceiptOpen(transaction, item)) return null;
      await writeReceipt(transaction, { item, epoch: item.epoch, cause, actor, result: 'waiting' });
      const step = firstStepOf(pipeline, item);
      if (step.do === 'stage') await markRecovering(transaction, item, step.stage);
      return null;
    },
  );
  return { pipeline: pipeline.name, itemId: seen.itemId, epoch: seen.epoch, step: firstStepOf(pipeline, seen) };
}

/** The dispatcher may have started it after the sweep looked: then nothing was lost. */
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

/** A first run's claims are not looked up in the receipts; this one's first is. */
async function markRecovering(transaction: Sql, { id, visit }: ItemRow, stage: string): Promise<void> {
  await transaction.query(
    `INSERT INTO tasks (item_id, visit, stage, recovering) VALUES ($1, $2, $3, true)
     ON CONFLICT (item_id, visit, stage, unit) DO UPDATE SET recovering = true`,
    [id, visit, stage],
  );
}
