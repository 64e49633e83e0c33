import type pg from 'pg';
import { type Claimed, taskKey } from './attempt.js';

/** What became of a commit whose answer was lost. */
export type Fate = 'committed' | 'not_committed' | 'superseded';

/** Asks the task by this attempt's claim: nobody else can have ended it under that. The commit may still be on its
 *  way in a session that outlived its connection: the locks wait for it. */
export async function rereadAttempt(pool: pg.Pool, claimed: Claimed): Promise<Fate> {
  const { rows } = await pool.query<{ fence: number; claimId: string | null; status: string }>(
    `WITH item AS (SELECT id FROM items WHERE id = $1 FOR SHARE)
     SELECT t.fence, t.claim_id AS "claimId", t.status FROM item JOIN tasks t ON t.item_id = item.id
     WHERE t.visit = $2 AND t.stage = $3 AND t.unit = $4 FOR SHARE OF t`,
    taskKey(claimed),
  );
  const [task] = rows;
  if (task?.fence !== claimed.fence || task.claimId !== claimed.claimId) return 'superseded';
  return task.status === 'running' ? 'not_committed' : 'committed';
}

/** Leaves a trace of a commit that an old fence was refused; operators count these. */
export async function recordRefusal(pool: pg.Pool, pipeline: string, claimed: Claimed): Promise<void> {
  await pool.query(
    'INSERT INTO refusals (item_id, pipeline, stage, unit, fence, worker) VALUES ($1, $2, $3, $4, $5, $6)',
    [claimed.itemId, pipeline, claimed.stage, claimed.unit, claimed.fence, claimed.worker],
  );
}
