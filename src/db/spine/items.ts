import { v7 as uuidv7 } from 'uuid';
import type { Pipeline } from '../../core/pipeline.js';
import { entryStep, type Step, withPriority } from '../../core/step.js';
import type { RunStart } from '../../core/run.js';
import type { Sql, Statement } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { queryPrepared } from '../postgres/client.js';
import { checkSource, Parameters, storableJson } from '../postgres/parameters.js';
import type { Actor } from './transition.js';

export interface NewItem {
  owner: string;
  actor: Actor;
  trigger: string;
  metadata?: JsonObject;
  dedupeKey?: string;
  priority?: number;
  allowPartial?: boolean;
  /** Inserts the domain's own row. The statement must draw `FROM item`, which is empty when there is a duplicate. */
  row?: Statement;
}

export type Created =
  { created: true; id: string; createdAt: Date; run: RunStart | null } | { created: false; id: string };

/** The API starts the run right after the commit. The dispatcher tries after this long, in case the API has died. */
const START_GRACE = `interval '1 second'`;

/** Each further try means that another item with the key has begun and ended in between. */
const MAX_TRIES = 5;

/** Inserts the item, its first audit entry and the domain's row in one statement, so that a caller who writes nothing else needs no
 *  transaction. The caller starts the run after the commit, not before. A live item with the same dedupe key is returned instead. */
export async function createItem(sql: Sql, pipeline: Pipeline, item: NewItem): Promise<Created> {
  // The item that held the key may end between the two looks. The key is free the second time round.
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const created = (await insertItem(sql, pipeline, item)) ?? (await findDuplicate(sql, pipeline, item));
    if (created) return created;
  }
  throw new Error(`items with the key '${item.dedupeKey ?? ''}' come and go too fast to tell whether there is one`);
}

async function insertItem(sql: Sql, pipeline: Pipeline, item: NewItem): Promise<Created | null> {
  const id = uuidv7();
  const { owner, priority = 0 } = item;
  const step = entryStep(pipeline, pipeline.start, 1);
  const p = new Parameters();
  const columns = [
    id,
    pipeline.name,
    owner,
    pipeline.start,
    priority,
    item.dedupeKey ?? null,
    item.dedupeKey !== undefined && pipeline.dedupes === 'all',
    item.allowPartial ?? false,
  ].map((value) => p.add(value));
  const startAfter = step ? `now() + ${START_GRACE}` : 'NULL';
  const [made] = await queryPrepared<{ createdAt: Date }>(
    sql,
    `WITH item AS (
       INSERT INTO items (id, pipeline, owner, state, priority, dedupe_key, dedupes_all, allow_partial, start_after)
       VALUES (${columns.join(', ')}, ${startAfter})
       ON CONFLICT DO NOTHING RETURNING *
     ), entry AS (
       INSERT INTO audit (item_id, pipeline, owner, version, visit, epoch, to_state, trigger, actor, actor_type, metadata)
       SELECT id, pipeline, owner, version, visit, epoch, state,
         ${p.add(item.trigger)}, ${p.add(item.actor.id)}, ${p.add(item.actor.type)}, ${p.add(storableJson(item.metadata ?? {}))}::jsonb
       FROM item
     )${item.row ? `, domain AS (${p.embed(checkSource('item', item.row))})` : ''}
     SELECT created_at AS "createdAt" FROM item`,
    p.values,
  );
  if (!made) return null;
  const first = { itemId: id, owner, priority, state: pipeline.start, visit: 1, epoch: 1 };
  return { created: true, id, ...made, run: step && runStartOf(pipeline, first) };
}

export async function findDuplicate(
  sql: Sql,
  pipeline: Pipeline,
  item: Pick<NewItem, 'dedupeKey'>,
): Promise<Created | null> {
  const { rows } = await sql.query<{ id: string }>(
    `SELECT id FROM items WHERE pipeline = $1 AND dedupe_key = $2 AND (ended_at IS NULL OR dedupes_all)
     ORDER BY id DESC LIMIT 1`,
    [pipeline.name, item.dedupeKey],
  );
  const [duplicate] = rows;
  return duplicate ? { created: false, id: duplicate.id } : null;
}

/** The columns of an item that the start of its run is made of. */
export interface StartableItem {
  itemId: string;
  owner: string;
  priority: number;
  state: string;
  visit: number;
  epoch: number;
}

export function runStartOf(pipeline: Pipeline, item: StartableItem): RunStart {
  const { itemId, epoch, owner, priority } = item;
  const step = withPriority(firstStepOf(pipeline, item), priority);
  return { pipeline: pipeline.name, itemId, epoch, step, owner, priority };
}

/** The first step of a run that starts now. The table alone says it for an item's first run. A later run asks its row, because
 *  stages of its state may be done. */
export function firstStepOf(pipeline: Pipeline, item: { state: string; visit: number; epoch: number }): Step {
  if (item.epoch > 1) return { do: 'next' };
  return entryStep(pipeline, item.state, item.visit) ?? { do: 'next' };
}
