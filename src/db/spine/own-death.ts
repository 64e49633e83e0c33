import type pg from 'pg';
import { deathsOf } from '../../core/deaths.js';
import { exhaustedState } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import { storableText } from '../postgres/parameters.js';
import { raiseExhausted } from '../recovery/outbox.js';
import { type Claimed, taskKey } from './attempt.js';
import { clearNeighbours } from './claim/clear-neighbours.js';
import { countCrash } from './claim/crash.js';
import { lockItem } from './item-row.js';
import { type Found, lockTask } from './task-row.js';
import { moveLocked, SYSTEM } from './transition.js';

/** How the process of an isolated stage ended. */
export interface OwnDeath {
  /** The process gave no sign of life and was killed for it. */
  isSilent: boolean;
  /** In words, such as `was ended by SIGKILL`. */
  how: string;
}

/** How often the process of the task did not start, in this visit. */
export async function countUnbegun(sql: Sql, claimed: Claimed): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(
    `SELECT count(*)::int FROM attempts
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4 AND result = 'unbegun'`,
    taskKey(claimed),
  );
  return rows[0]?.count ?? 0;
}

/** Blames the task for the death of the process that ran it alone, if the task still runs under this attempt's claim: a process that
 *  died after its commit blames nobody. `POISON_DEATHS` of them end the item as poison. Says whether a death was counted. */
export async function blameTask(
  pool: pg.Pool,
  pipeline: Pipeline,
  claimed: Claimed,
  death: OwnDeath,
): Promise<'blamed' | 'poison' | 'superseded'> {
  return inTransaction(pool, async (transaction) => {
    const item = await lockItem(transaction, claimed.itemId);
    if (!item || item.epoch !== claimed.epoch || item.endedAt) return 'superseded';
    const before = await lockTask(transaction, claimed);
    const isHeld = before.status === 'running' && before.fence === claimed.fence && before.claimId === claimed.claimId;
    if (!isHeld) return 'superseded';
    const found = { item, attempt: claimed, before };
    const isPoison = before.ownDeaths + 1 >= deathsOf(pipeline).poison;
    const message = storableText(`the process that ran ${claimed.stage} alone ${death.how}`);
    await countCrash(transaction, pipeline, found, {
      message,
      isOwn: true,
      reason: death.isSilent ? `'silent_worker'` : `'worker_died'`,
      result: isPoison ? 'poison' : 'waiting',
    });
    if (!isPoison) return 'blamed';
    await endPoisoned(transaction, pipeline, found);
    return 'poison';
  });
}

async function endPoisoned(transaction: Sql, pipeline: Pipeline, { item, attempt, before }: Found): Promise<void> {
  const deaths = before.ownDeaths + 1;
  const processes = deaths === 1 ? 'a process' : `${deaths} processes`;
  const message = `${attempt.stage} brought down ${processes} that ran nothing else`;
  await moveLocked(transaction, pipeline, item, {
    from: item.state,
    to: exhaustedState(pipeline, item.state, null),
    via: 'exhaustion',
    trigger: 'poison',
    actor: SYSTEM,
    reason: 'POISON',
    metadata: { stage: attempt.stage, unit: attempt.unit, crashes: before.crashes + 1 },
    error: { class: 'WORKER_CRASH', message, stage: attempt.stage },
  });
  await raiseExhausted(transaction, pipeline, item, { reason: 'POISON', sentence: `${message}.` });
  await clearNeighbours(transaction, pipeline, attempt);
}
