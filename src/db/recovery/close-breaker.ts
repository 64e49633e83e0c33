import type pg from 'pg';
import { isDeserted, isQuiet } from '../../core/breaker.js';
import { AppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import { recordOperatorAction } from '../spine/operator-actions.js';
import { FIRST_ID } from '../spine/pipeline-pause.js';
import type { Actor } from '../spine/transition.js';
import { type BreakerRow, closeBreaker, countWaiting, lockBreaker } from './breaker.js';

export interface CloseRequest {
  pipeline: string;
  class: string;
  actor: Actor;
  reason: string;
}

/** Closes a breaker because an operator asks for it, and wakes the items that wait for it. */
export async function closeByHand(pool: pg.Pool, asked: CloseRequest): Promise<void> {
  await inTransaction(pool, async (transaction) => {
    const breaker = await lockBreaker(transaction, asked.pipeline, asked.class);
    if (!breaker) {
      throw new AppError('not_found', `${asked.pipeline} has no breaker open for ${asked.class}`);
    }
    await closeBreaker(transaction, breaker, `closed by ${asked.actor.id}, ${asked.reason}`, FIRST_ID);
    await recordOperatorAction(transaction, {
      action: 'close-breaker',
      target: `pipeline:${asked.pipeline}`,
      actor: asked.actor,
      reason: asked.reason,
      metadata: { class: asked.class, stages: breaker.stages, state: breaker.state },
    });
  });
}

/** Closes the breakers that no item waits for any more. The last items may have been too few to bring a releasing breaker to its full
 *  pace; and an open breaker whose items were cancelled would stay open until the next item comes. Returns the closed breakers. */
export async function closeQuiet(
  pool: pg.Pool,
  pipelines: Readonly<Record<string, Pipeline>>,
): Promise<Pick<BreakerRow, 'pipeline' | 'class'>[]> {
  const { rows } = await pool.query<Pick<BreakerRow, 'pipeline' | 'class'>>(
    `SELECT pipeline, class FROM breakers WHERE state <> 'closed' AND next_pass_at < now()`,
  );
  const closed: Pick<BreakerRow, 'pipeline' | 'class'>[] = [];
  for (const each of rows) {
    const pipeline = pipelines[each.pipeline];
    const isClosed = await inTransaction(pool, async (transaction) => {
      const breaker = await lockBreaker(transaction, each.pipeline, each.class);
      if (!breaker || !(await isUnwanted(transaction, pipeline, breaker))) return false;
      await closeBreaker(transaction, breaker, 'nothing waits for it any more');
      return true;
    });
    if (isClosed) closed.push(each);
  }
  return closed;
}

/** Whether no item waits for the breaker. A pipeline that this version lacks, or that has no breakers any more, has no such items. */
async function isUnwanted(transaction: Sql, pipeline: Pipeline | undefined, breaker: BreakerRow): Promise<boolean> {
  if (!pipeline?.breaker || isQuiet(breaker, pipeline.breaker)) return true;
  if (!isDeserted(breaker, pipeline.breaker)) return false;
  return (await countWaiting(transaction, pipeline, breaker.stages)) === 0;
}
