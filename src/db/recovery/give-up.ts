import type pg from 'pg';
import { exhaustedState, exhaustedTrigger } from '../../core/machine.js';
import {
  assertAsSeen,
  assertLive,
  changeItem,
  type Changed,
  type FindPipeline,
  type Request,
  type SeenItem,
} from '../spine/control.js';
import { raiseEvent, raiseExhausted } from './outbox.js';
import { type Cause, writeReceipt } from './receipts.js';

/** The last actions of recovery. Each is one transaction that compares the item with the facts that were seen before it writes:
 *  the move, the receipt and the event are there together or not at all. */
export type GivingUp = Request & Required<Pick<SeenItem, 'seen' | 'seenVersion'>> & { cause: Cause };

/** The end reason that an owner sees when the item's rescues are spent. */
const STUCK_EXHAUSTED = 'STUCK_EXHAUSTED';

/** The class of the last error decides where the item goes, and the error is kept: an outage of a service is no result
 *  of a stage. */
export async function exhaustItem(pool: pg.Pool, find: FindPipeline, request: GivingUp): Promise<Changed> {
  return changeItem(pool, find, request, async (pipeline, item, transaction) => {
    assertLive(pipeline, item, 'given up');
    assertAsSeen(item, request);
    const { cause, actor } = request;
    await writeReceipt(transaction, { item, epoch: item.epoch, cause, actor, result: 'exhausted' });
    const to = exhaustedState(pipeline, item.state, item.errorClass);
    const sentence = `It was given up after ${item.rescues} rescues and is in ${to} now. ${cause.sentence}`;
    await raiseExhausted(transaction, pipeline, item, { reason: STUCK_EXHAUSTED, sentence });
    return {
      from: item.state,
      to,
      via: 'exhaustion',
      trigger: exhaustedTrigger(pipeline, item.state, item.errorClass),
      actor,
      reason: STUCK_EXHAUSTED,
      metadata: { reason: STUCK_EXHAUSTED, stopped: cause.reason, sentence: cause.sentence, rescues: item.rescues },
    };
  });
}

/** Parks an item that is too old to be driven on unasked. It stays in its state until a person retries or cancels
 *  it. */
export async function parkItem(
  pool: pg.Pool,
  find: FindPipeline,
  request: GivingUp & { why: string },
): Promise<Changed> {
  return changeItem(pool, find, request, async (pipeline, item, transaction) => {
    assertLive(pipeline, item, 'parked');
    assertAsSeen(item, request);
    const { cause, actor, why } = request;
    await writeReceipt(transaction, { item, epoch: item.epoch, cause, actor, result: 'parked' });
    await raiseEvent(transaction, {
      id: `item_parked:${item.id}:${item.epoch}`,
      kind: 'item_parked',
      pipeline: item.pipeline,
      itemId: item.id,
      sentence: `It was parked (${why}): a person must retry or cancel it. ${cause.sentence}`,
      payload: { state: item.state, why, errorClass: item.errorClass },
    });
    return {
      from: item.state,
      to: item.state,
      via: 'park',
      trigger: 'parked',
      actor,
      reason: why,
      metadata: { why, stopped: cause.reason, sentence: cause.sentence },
    };
  });
}
