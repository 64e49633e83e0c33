import type pg from 'pg';
import type { Pipeline } from '../../../core/pipeline.js';
import { queryPrepared, WITHOUT_WAITING } from '../../postgres/client.js';
import { movingStatement } from '../../recovery/receipts.js';
import { type Attempt, taskKey } from '../attempt.js';
import { IS_LIVE } from '../item-row.js';
import { type Earlier, turnCondition } from './turn.js';

/** The columns of the task and the item that a granted claim reads. */
export interface TakenTask {
  fence: number;
  attempt: number;
  errors: number;
  checkpoint: unknown;
  owner: string;
}

/** Claims in one statement. Undefined: this is not the common case, and `claimCarefully` must look at it. */
export async function claimAtOnce(
  pool: pg.Pool,
  pipeline: Pipeline,
  attempt: Attempt,
  { single, spread }: Earlier,
): Promise<TakenTask | undefined> {
  const { state, epoch, claimId, token, worker, scheduledAt } = attempt;
  const values = [...taskKey(attempt), state, epoch, pipeline.name, claimId, token, worker, scheduledAt];
  const isFirst = single.length + spread.length === 0;
  const statements = CLAIM[attempt.unit === '' ? 'stage' : 'unit'][occasionOf(attempt)];
  const [taken] = isFirst
    ? await queryPrepared<TakenTask>(pool, statements.first, values)
    : await queryPrepared<TakenTask>(pool, statements.later, [...values, single, spread]);
  return taken;
}

function occasionOf({ epoch, isRetried }: Attempt): 'fresh' | 'retried' | 'rescued' {
  if (epoch > 1) return 'rescued';
  return isRetried ? 'retried' : 'fresh';
}

interface Manner {
  also: string;
  /** Whether the claim is on disk when it is answered. A first claim need not be: the commit that ends the attempt waits for both. The
   *  claim of a retried attempt must be, or the crashes of an item that brings down its worker and the database at once would never
   *  be counted. The claim of a rescued item must be, because a recovery that was shown to move must not be taken back. */
  waits: boolean;
}

/** The common case in one statement: the item is where the run believes, nothing holds it, and the task is free, has not brought
 *  down a worker and has no receipt to complete. Units lock the item for sharing and never write it, or parallel units would
 *  deadlock. */
function claimStatement(lock: string, { also, waits }: Manner, turn = 'true'): string {
  return `
    WITH item AS (
      SELECT id, owner, started, wake_after, held_by FROM items
      WHERE id = $1 AND visit = $2 AND state = $5 AND epoch = $6 AND ${IS_LIVE}
        AND (paused_until IS NULL OR paused_until <= now())
        AND NOT EXISTS (SELECT 1 FROM holds WHERE pipeline = $7 AND until > now())
        AND ${turn}
      ${lock}
    ), task AS (
      INSERT INTO tasks AS t (item_id, visit, stage, unit, status, fence, attempt, claim_id, token, worker,
        scheduled_at, started_at, beat_at)
      SELECT id, $2::int, $3::text, $4::text, 'running', 1, 1, $8::uuid, $9::bytea, $10::text, $11::timestamptz, now(), now()
      FROM item
      ON CONFLICT (item_id, visit, stage, unit) DO UPDATE SET
        status = 'running', fence = t.fence + 1, attempt = t.attempt + 1, claim_id = excluded.claim_id, token = excluded.token,
        worker = excluded.worker, scheduled_at = excluded.scheduled_at, started_at = now(), beat_at = now(), progress = NULL, progress_at = NULL, retry_at = NULL
      WHERE t.status = 'waiting' AND t.crashes = 0 AND NOT t.recovering AND t.claim_id IS DISTINCT FROM excluded.claim_id
        AND (excluded.scheduled_at < t.scheduled_at) IS NOT TRUE
      RETURNING t.fence, t.attempt, t.errors, t.checkpoint
    )${also}
    SELECT task.fence, task.attempt, task.errors, task.checkpoint, item.owner${waits ? '' : `, ${WITHOUT_WAITING}`} FROM task, item`;
}

const MARK = `, mark AS (
      UPDATE items SET started = true, wake_after = NULL, wake_tries = 0, held_by = NULL, beat_at = now() FROM item, task
      WHERE items.id = item.id AND (NOT item.started OR item.wake_after IS NOT NULL OR item.held_by IS NOT NULL)
    )`;
/** The first granted claim of a rescued item completes the item's receipt. First runs have no receipt and don't look for it. */
const MOVING = `, moving AS (
      ${movingStatement('(SELECT item.id FROM item, task)', '$6')}
    )`;
const LATER = turnCondition('$12', '$13');
const CLAIM = {
  stage: {
    fresh: claimStatements('FOR NO KEY UPDATE', { also: MARK, waits: false }),
    retried: claimStatements('FOR NO KEY UPDATE', { also: MARK, waits: true }),
    rescued: claimStatements('FOR NO KEY UPDATE', { also: MARK + MOVING, waits: true }),
  },
  unit: {
    fresh: claimStatements('FOR SHARE', { also: '', waits: false }),
    retried: claimStatements('FOR SHARE', { also: '', waits: true }),
    rescued: claimStatements('FOR SHARE', { also: MOVING, waits: true }),
  },
} as const;

function claimStatements(lock: string, manner: Manner): { first: string; later: string } {
  return { first: claimStatement(lock, manner), later: claimStatement(lock, manner, LATER) };
}
