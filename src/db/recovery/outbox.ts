import type { Sql } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { storableJson, storableText } from '../postgres/parameters.js';

/** What somebody is told of. */
export type EventKind =
  | 'item_ended'
  | 'item_exhausted'
  | 'item_parked'
  | 'item_wedged'
  | 'run_failed'
  | 'breaker_opened'
  | 'breaker_closed'
  | 'no_worker'
  | 'sweep_late'
  | 'schedule_skipped'
  | 'run_without_item';

export interface OutboxEvent {
  /** Names the occasion: raised twice, it is one event. */
  id: string;
  kind: EventKind;
  sentence: string;
  pipeline?: string;
  itemId?: string;
  /** Set where the owner is told; without it, operators are. */
  owner?: string;
  payload?: JsonObject;
}

/** Stores the event with what it tells of: call it in the transaction that makes it true. False: it was raised before. */
export async function raiseEvent(sql: Sql, event: OutboxEvent): Promise<boolean> {
  const { rowCount } = await sql.query(
    `INSERT INTO outbox (id, kind, pipeline, item_id, owner, sentence, payload) VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb)
     ON CONFLICT DO NOTHING`,
    [
      event.id,
      event.kind,
      event.pipeline ?? null,
      event.itemId ?? null,
      event.owner ?? null,
      storableText(event.sentence),
      storableJson(event.payload ?? {}),
    ],
  );
  return rowCount === 1;
}
