import type pg from 'pg';
import { isQuiet } from '../../core/breaker.js';
import { AppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import { inTransaction } from '../postgres/client.js';
import { recordOperatorAction } from '../spine/operator-actions.js';
import { FIRST_ID } from '../spine/pipeline-pause.js';
import type { Actor } from '../spine/transition.js';
import { type BreakerRow, closeBreaker, lockBreaker } from './breaker.js';

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

/** Closes the breakers that no item waits for any more: the last items may have been too few to bring a breaker to its
 *  full pace. Returns the closed breakers. */
export async function closeQuiet(
  pool: pg.Pool,
  pipelines: Readonly<Record<string, Pipeline>>,
): Promise<Pick<BreakerRow, 'pipeline' | 'class'>[]> {
  const { rows } = await pool.query<Pick<BreakerRow, 'pipeline' | 'class'>>(
    `SELECT pipeline, class FROM breakers WHERE state = 'releasing' AND next_pass_at < now()`,
  );
  const closed: Pick<BreakerRow, 'pipeline' | 'class'>[] = [];
  for (const each of rows) {
    const settings = pipelines[each.pipeline]?.breaker;
    const isClosed = await inTransaction(pool, async (transaction) => {
      const breaker = await lockBreaker(transaction, each.pipeline, each.class);
      if (!breaker || (settings && !isQuiet(breaker, settings))) return false;
      await closeBreaker(transaction, breaker, 'nothing waits for it any more');
      return true;
    });
    if (isClosed) closed.push(each);
  }
  return closed;
}
