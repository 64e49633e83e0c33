import type pg from 'pg';

export interface ReceiptFacts {
  pipeline: string;
  state: string;
  visit: number;
  epoch: number;
  stage: string | null;
  unit: string;
  reason: string;
  sentence: string;
  seenAt: Date;
  movingAt: Date | null;
  stagesAgain: string[];
  actor: string;
  actorType: string;
  result: string;
  /** From the last sign of life to the act, and to when it was seen. */
  silentMs: number;
  detectMs: number;
}

export async function receiptsOf(pool: pg.Pool, itemId: string): Promise<ReceiptFacts[]> {
  const { rows } = await pool.query<ReceiptFacts>(
    `SELECT pipeline, state, visit, epoch, stage, unit, reason, sentence, seen_at AS "seenAt", moving_at AS "movingAt",
       stages_again AS "stagesAgain", actor, actor_type AS "actorType", result,
       extract(epoch FROM acted_at - last_sign_at)::float8 * 1000 AS "silentMs",
       extract(epoch FROM seen_at - last_sign_at)::float8 * 1000 AS "detectMs"
     FROM receipts WHERE item_id = $1 ORDER BY id`,
    [itemId],
  );
  return rows;
}

export interface EventFacts {
  id: string;
  kind: string;
  pipeline: string | null;
  owner: string | null;
  sentence: string;
  payload: Record<string, unknown>;
}

export async function eventsOf(pool: pg.Pool, itemId: string): Promise<EventFacts[]> {
  const { rows } = await pool.query<EventFacts>(
    'SELECT id, kind, pipeline, owner, sentence, payload FROM outbox WHERE item_id = $1 ORDER BY id',
    [itemId],
  );
  return rows;
}
