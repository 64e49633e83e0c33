import { v7 as uuidv7 } from 'uuid';
import type { Pipeline } from '../core/pipeline.js';
import { entryStep, type Step } from '../core/step.js';
import type { RunInput } from '../core/run.js';
import type { Sql } from '../ports/sql.js';
import type { JsonObject } from '../ports/stage.js';
import { prepared } from './client.js';
import { storableJson } from './parameters.js';
import type { Actor } from './transition.js';

export interface NewItem {
  owner: string;
  actor: Actor;
  trigger: string;
  metadata?: JsonObject;
  dedupeKey?: string;
  priority?: number;
  allowPartial?: boolean;
}

export type Created = { created: true; id: string; run: RunInput | null } | { created: false; id: string };

/** The API starts the run itself right after the commit; the dispatcher tries after this long, should the API have died. */
const START_GRACE = `interval '1 second'`;

/** Each further try needs another item with the key to have begun and ended in between. */
const MAX_TRIES = 5;

/** Inserts the item and its first audit entry. The caller adds the domain's row in the same transaction, commits, and only
 *  then starts the run. A live item with the same dedupe key is returned instead. */
export async function createItem(transaction: Sql, pipeline: Pipeline, item: NewItem): Promise<Created> {
  // Whoever held the key may end between the two looks; the second time round the key is free.
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const created =
      (await insertItem(transaction, pipeline, item)) ?? (await findDuplicate(transaction, pipeline, item));
    if (created) return created;
  }
  throw new Error(`items with the key '${item.dedupeKey ?? ''}' come and go too fast to tell whether there is one`);
}

async function insertItem(transaction: Sql, pipeline: Pipeline, item: NewItem): Promise<Created | null> {
  const id = uuidv7();
  const step = entryStep(pipeline, pipeline.start, 1);
  const rows = await prepared<{ id: string }>(
    transaction,
    `WITH item AS (
       INSERT INTO items (id, pipeline, owner, state, start_after, priority, dedupe_key, dedupes_all, allow_partial)
       VALUES ($1, $2, $3, $4, CASE WHEN $5 THEN now() + ${START_GRACE} END, $6, $7, $8, $9)
       ON CONFLICT DO NOTHING RETURNING *
     ), entry AS (
       INSERT INTO audit (item_id, pipeline, owner, version, visit, epoch, to_state, trigger, actor, actor_type, metadata)
       SELECT id, pipeline, owner, version, visit, epoch, state, $10, $11, $12, $13::jsonb FROM item
     )
     SELECT id FROM item`,
    [
      id,
      pipeline.name,
      item.owner,
      pipeline.start,
      step !== null,
      item.priority ?? 0,
      item.dedupeKey ?? null,
      item.dedupeKey !== undefined && pipeline.dedupes === 'all',
      item.allowPartial ?? false,
      item.trigger,
      item.actor.id,
      item.actor.type,
      storableJson(item.metadata ?? {}),
    ],
  );
  if (rows.length === 0) return null;
  return { created: true, id, run: step && { pipeline: pipeline.name, itemId: id, epoch: 1, step } };
}

async function findDuplicate(transaction: Sql, pipeline: Pipeline, item: NewItem): Promise<Created | null> {
  const { rows } = await transaction.query<{ id: string }>(
    `SELECT id FROM items WHERE pipeline = $1 AND dedupe_key = $2 AND (ended_at IS NULL OR dedupes_all)
     ORDER BY id DESC LIMIT 1`,
    [pipeline.name, item.dedupeKey],
  );
  const [duplicate] = rows;
  return duplicate ? { created: false, id: duplicate.id } : null;
}

/** The first step of a run that starts now. Only a first run knows it from the table alone: a later one asks its row, for
 *  stages of its state may be done. */
export function firstStepOf(pipeline: Pipeline, item: { state: string; visit: number; epoch: number }): Step {
  if (item.epoch > 1) return { do: 'next' };
  return entryStep(pipeline, item.state, item.visit) ?? { do: 'next' };
}
