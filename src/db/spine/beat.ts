import type pg from 'pg';
import type { Statement } from '../../ports/sql.js';
import type { Json, JsonObject } from '../../ports/stage.js';
import { queryPrepared, WITHOUT_WAITING } from '../postgres/client.js';
import { checkSource, Parameters, storableJson } from '../postgres/parameters.js';
import { type Claimed, taskKey } from './attempt.js';
import { IS_LIVE } from './item-row.js';
import { GUARD, IS_RUNNING } from './task-row.js';

/** Writes a sign of life and the latest progress. False: the attempt has been superseded and should stop.
 *  The item comes before the task here too. A unit's beat writes its task only, or parallel units would deadlock. */
export async function beatTask(pool: pg.Pool, claimed: Claimed, progress: JsonObject | null): Promise<boolean> {
  const rows = await queryPrepared(pool, claimed.unit === '' ? BEAT_STAGE : BEAT_UNIT, [
    ...taskKey(claimed),
    claimed.state,
    claimed.epoch,
    claimed.fence,
    claimed.claimId,
    progress ? storableJson(progress) : null,
  ]);
  return rows.length > 0;
}

/** Keeps the checkpoint that the next attempt resumes from. False: the attempt has been superseded. */
export async function keepCheckpoint(pool: pg.Pool, claimed: Claimed, checkpoint: Json): Promise<boolean> {
  const rows = await queryPrepared(pool, KEEP, keepValues(claimed, checkpoint));
  return rows.length > 0;
}

/** Writes a checkpoint together with the effect that it stands for, once: a repeated call finds the checkpoint and writes nothing. The
 *  row is not beaten, because a process that has just woken must not make the item look alive. False: the attempt has been superseded,
 *  or an earlier call is being committed at this moment. */
export async function keepEffect(
  pool: pg.Pool,
  claimed: Claimed,
  checkpoint: Json,
  effect: Statement,
): Promise<boolean> {
  const p = new Parameters();
  for (const value of keepValues(claimed, checkpoint)) p.add(value);
  const rows = await queryPrepared(
    pool,
    `${ITEM}, guard AS (
       UPDATE tasks t SET checkpoint = $9::jsonb FROM item
       WHERE t.item_id = item.id AND ${IS_MINE} AND t.checkpoint IS DISTINCT FROM $9::jsonb RETURNING ${GUARD}
     ), saved AS (${p.embed(checkSource('guard', effect))})
     SELECT 1 FROM guard
     UNION ALL SELECT 1 FROM tasks t, item WHERE t.item_id = item.id AND ${IS_MINE} AND t.checkpoint = $9::jsonb`,
    p.values,
  );
  return rows.length > 0;
}

function keepValues(claimed: Claimed, checkpoint: Json): unknown[] {
  const { state, epoch, fence, claimId } = claimed;
  return [...taskKey(claimed), state, epoch, fence, claimId, storableJson(checkpoint)];
}

const IS_MINE = `t.visit = $2 AND t.stage = $3 AND t.unit = $4 AND t.fence = $7 AND t.claim_id = $8 AND ${IS_RUNNING}`;

/** The answer does not wait for the disk: the next beat makes up for a lost beat, and the stage itself for a lost checkpoint. */
const BEAT_TASK = `
  UPDATE tasks t SET beat_at = now(), progress = COALESCE($9::jsonb, t.progress),
    progress_at = CASE WHEN $9::jsonb IS NULL THEN t.progress_at ELSE now() END
  FROM item WHERE t.item_id = item.id AND ${IS_MINE}
  RETURNING ${WITHOUT_WAITING}`;

/** An attempt that was superseded must not make its item look alive. */
const BEAT_STAGE = `
  WITH item AS (
    UPDATE items SET beat_at = now()
    WHERE id = $1 AND visit = $2 AND state = $5 AND epoch = $6 AND ${IS_LIVE}
      AND EXISTS (SELECT 1 FROM tasks t WHERE t.item_id = $1 AND ${IS_MINE})
    RETURNING id
  ) ${BEAT_TASK}`;

const ITEM = `
  WITH item AS (
    SELECT id FROM items WHERE id = $1 AND visit = $2 AND state = $5 AND epoch = $6 AND ${IS_LIVE}
  )`;

const BEAT_UNIT = `${ITEM} ${BEAT_TASK}`;

const KEEP = `${ITEM}
  UPDATE tasks t SET checkpoint = $9::jsonb, beat_at = now()
  FROM item WHERE t.item_id = item.id AND ${IS_MINE}
  RETURNING ${WITHOUT_WAITING}`;
