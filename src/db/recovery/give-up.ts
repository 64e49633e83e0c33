import type pg from 'pg';
import { exhaustedState, exhaustedTrigger } from '../../core/machine.js';
import {
  assertAsSeen,
  assertLive,
  change,
  type Changed,
  type FindPipeline,
  type Request,
  type Seen,
} from '../spine/control.js';
import { raiseExhausted } from '../exhausted-event.js';
import { raiseEvent } from './outbox.js';
import { type Cause, writeReceipt } from './receipts.js';

/** What recovery does when it can do no more. Each is one transaction, by compare-and-set on what was seen: the move, the
 *  receipt and what somebody is told of are there together or not at all. */
export type GivingUp = Request & Required<Pick<Seen, 'seen' | 'seenVersion'>> & { cause: Cause };

/** The word an owner sees where an item ended because nothing got it moving again. */
const STUCK_EXHAUSTED = 'STUCK_EXHAUSTED';

/** The last error decides where it goes and is kept: an outage of the judge is not a verdict. */
export async function exhaustItem(pool: pg.Pool, find: FindPipeline, request: GivingUp): Promise<Changed> {
  return change(pool, find, request, async (pipeline, item, transaction) => {
    assertLive(pipeline, item, 'given up');
    assertAsSeen(item, request);
    const { cause, actor } = request;
    await writeReceipt(transaction, { item, epoch: item.epoch, cause, actor, result: 'exhausted' });
    const to = exhaustedState(pipeline, item.state, item.errorClass);
    const sentence = `It was given up after ${String(item.rescues)} rescues and is in ${to} now. ${cause.sentence}`;
    await raiseExhausted(transaction, item, { reason: STUCK_EXHAUSTED, sentence });
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

/** Too old to be driven on unasked: it stays where it is until a person retries or cancels it. */
export async function parkItem(
  pool: pg.Pool,
  find: FindPipeline,
  request: GivingUp & { why: string },
): Promise<Changed> {
  return change(pool, find, request, async (pipeline, item, transaction) => {
    assertLive(pipeline, item, 'parked');
    assertAsSeen(item, request);
    const { cause, actor, why } = request;
    await writeReceipt(transaction, { item, epoch: item.epoch, cause, actor, result: 'parked' });
    await raiseEvent(transaction, {
      id: `item_parked:${item.id}:${String(item.epoch)}`,
      kind: 'item_parked',
      pipeline: item.pipeline,
      itemId: item.id,
      sentence: `It was parked (${why}): a person must retry or cancel it. ${cause.sentence}`,
      payload: { state: item.state, why },
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
