import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { storableJson, storableText } from '../postgres/parameters.js';
import type { ItemRow } from '../spine/item-row.js';

/** The kinds of events that owners and operators are told of. */
export type EventKind =
  | 'item_ended'
  | 'deletion_warned'
  | 'item_exhausted'
  | 'item_parked'
  | 'item_wedged'
  | 'run_failed'
  | 'breaker_opened'
  | 'breaker_closed'
  | 'no_worker'
  | 'backlog'
  | 'sweep_late'
  | 'schedule_skipped'
  | 'run_without_item';

export interface OutboxEvent {
  /** Names the occasion. Raised twice under one id, it is one event. */
  id: string;
  kind: EventKind;
  sentence: string;
  pipeline?: string;
  itemId?: string;
  /** The owner who is told; without it, operators are told. */
  owner?: string;
  /** The mail address of the owner, or of another person whom the item concerns. */
  mailTo?: string;
  payload?: JsonObject;
}

/** Stores the event. Call it in the transaction that makes the event true. False: it was raised before. */
export async function raiseEvent(sql: Sql, event: OutboxEvent): Promise<boolean> {
  const { rowCount } = await sql.query(
    `INSERT INTO outbox (id, kind, pipeline, item_id, owner, mail_to, sentence, payload) VALUES ($1, $2, $3, $4, $5, $6, $7, $8::jsonb)
     ON CONFLICT DO NOTHING`,
    [
      event.id,
      event.kind,
      event.pipeline ?? null,
      event.itemId ?? null,
      event.owner ?? null,
      event.mailTo ?? null,
      storableText(event.sentence),
      storableJson(event.payload ?? {}),
    ],
  );
  return rowCount === 1;
}

/** Tells the owner, once for each run, that recovery has given the item up. Where the table has its owners told of a failed end, the
 *  owner is told by that event, and operators by this one. */
export async function raiseExhausted(
  transaction: Sql,
  { tells }: Pick<Pipeline, 'tells'>,
  item: ItemRow,
  why: { reason: string; sentence: string },
): Promise<void> {
  await raiseEvent(transaction, {
    id: `item_exhausted:${item.id}:${item.epoch}`,
    kind: 'item_exhausted',
    pipeline: item.pipeline,
    itemId: item.id,
    ...(!tells?.owner && { owner: item.owner }),
    sentence: why.sentence,
    payload: { state: item.state, reason: why.reason, rescues: item.rescues, errorClass: item.errorClass },
  });
}
