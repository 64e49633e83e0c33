import type pg from 'pg';
import { type Claimed, taskKey } from './attempt.js';

/** Finds out the end of an attempt whose commit got no answer, or whose claim is not found. */
export type Fate = 'committed' | 'not_committed' | 'claim_lost' | 'superseded';

/** Reads the task and compares it with this attempt's claim: nobody else can have ended the task under this claim. The commit may
 *  still be on its way in a session that outlived its connection, and the locks wait for it. */
export async function rereadAttempt(pool: pg.Pool, claimed: Claimed): Promise<Fate> {
  const { rows } = await pool.query<{ fence: number; claimId: string | null; status: string | null }>(
    `WITH item AS (
       SELECT id FROM items WHERE id = $1 FOR SHARE
     ), task AS (
       SELECT t.fence, t.claim_id, t.status FROM item JOIN tasks t ON t.item_id = item.id
       WHERE t.visit = $2 AND t.stage = $3 AND t.unit = $4 FOR SHARE OF t
     )
     SELECT COALESCE(task.fence, 0) AS fence, task.claim_id AS "claimId", task.status FROM item LEFT JOIN task ON true`,
    taskKey(claimed),
  );
  const [task] = rows;
  if (!task) return 'superseded';
  // Fences only rise, so a lower fence is from before the claim.
  if (task.fence < claimed.fence) return 'claim_lost';
  if (task.fence !== claimed.fence || task.claimId !== claimed.claimId) return 'superseded';
  return task.status === 'running' ? 'not_committed' : 'committed';
}

/** Records a commit that was refused because another attempt has the task. Operators count the refusals. */
export async function recordRefusal(pool: pg.Pool, pipeline: string, claimed: Claimed): Promise<void> {
  await pool.query(
    'INSERT INTO refusals (item_id, pipeline, stage, unit, fence, worker) VALUES ($1, $2, $3, $4, $5, $6)',
    [claimed.itemId, pipeline, claimed.stage, claimed.unit, claimed.fence, claimed.worker],
  );
}
