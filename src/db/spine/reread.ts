import type pg from 'pg';
import { type Claimed, taskKey } from './attempt.js';

/** What became of an attempt: of a commit whose answer was lost, or of a claim that is not found. */
export type Fate = 'committed' | 'not_committed' | 'claim_lost' | 'superseded';

/** Asks the task by this attempt's claim: nobody else can have ended it under that. The commit may still be on its
 *  way in a session that outlived its connection: the locks wait for it. */
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
  // Fences only rise: one that is lower is from before the claim.
  if (task.fence < claimed.fence) return 'claim_lost';
  if (task.fence !== claimed.fence || task.claimId !== claimed.claimId) return 'superseded';
  return task.status === 'running' ? 'not_committed' : 'committed';
}

/** Leaves a trace of a commit that was refused because another attempt has the task; operators count these. */
export async function recordRefusal(pool: pg.Pool, pipeline: string, claimed: Claimed): Promise<void> {
  await pool.query(
    'INSERT INTO refusals (item_id, pipeline, stage, unit, fence, worker) VALUES ($1, $2, $3, $4, $5, $6)',
    [claimed.itemId, pipeline, claimed.stage, claimed.unit, claimed.fence, claimed.worker],
  );
}
