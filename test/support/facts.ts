import type pg from 'pg';

export interface ItemFacts {
  owner: string;
  priority: number;
  state: string;
  visit: number;
  epoch: number;
  version: number;
  started: boolean;
  startAfter: Date | null;
  wakeAfter: Date | null;
  runEndedAt: Date | null;
  endedAt: Date | null;
  endReason: string | null;
  errorClass: string | null;
  errorMessage: string | null;
  errorStage: string | null;
  rescues: number;
  nextRescueAfter: Date | null;
  pausedUntil: Date | number | null;
  pauseReason: string | null;
  parkedAt: Date | null;
}

export async function itemOf(pool: pg.Pool, itemId: string): Promise<ItemFacts> {
  const { rows } = await pool.query<ItemFacts>(
    `SELECT owner, priority, state, visit, epoch, version, started, start_after AS "startAfter", wake_after AS "wakeAfter",
       run_ended_at AS "runEndedAt", ended_at AS "endedAt", end_reason AS "endReason", error_class AS "errorClass",
       error_message AS "errorMessage", error_stage AS "errorStage", rescues, next_rescue_after AS "nextRescueAfter",
       paused_until AS "pausedUntil", pause_reason AS "pauseReason", parked_at AS "parkedAt"
     FROM items WHERE id = $1`,
    [itemId],
  );
  const [item] = rows;
  if (!item) throw new Error(`there is no item ${itemId}`);
  return item;
}

export interface TaskFacts {
  visit: number;
  stage: string;
  unit: string;
  status: string;
  fence: number;
  attempt: number;
  errors: number;
  crashes: number;
  ownDeaths: number;
  rescues: number;
  isolated: boolean;
  outcome: string | null;
  note: Record<string, unknown> | null;
}

export async function tasksOf(pool: pg.Pool, itemId: string): Promise<TaskFacts[]> {
  const { rows } = await pool.query<TaskFacts>(
    `SELECT visit, stage, unit, status, fence, attempt, errors, crashes, own_deaths AS "ownDeaths", rescues, isolated,
       outcome, note FROM tasks WHERE item_id = $1 ORDER BY visit, stage, position, unit`,
    [itemId],
  );
  return rows;
}

export async function taskOf(pool: pg.Pool, itemId: string, stage: string, unit = ''): Promise<TaskFacts> {
  const found = (await tasksOf(pool, itemId)).findLast((each) => each.stage === stage && each.unit === unit);
  if (!found) throw new Error(`item ${itemId} has no task ${stage} ${unit}`);
  return found;
}

/** The ended tries of an item, as `stage unit result`. */
export async function attemptsOf(pool: pg.Pool, itemId: string): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `SELECT concat_ws(' ', stage, nullif(unit, ''), result) AS line FROM attempts WHERE item_id = $1 ORDER BY id`,
    [itemId],
  );
  return rows.map((each) => each.line);
}

export async function effectsOf(pool: pg.Pool, itemId: string): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `SELECT concat_ws(' ', visit, stage, nullif(unit, '')) AS line FROM canary_effects WHERE item_id = $1 ORDER BY id`,
    [itemId],
  );
  return rows.map((each) => each.line);
}

export interface AuditFacts {
  version: number;
  visit: number;
  epoch: number;
  from: string | null;
  to: string;
  trigger: string;
  actor: string;
  actorType: string;
}

export async function auditOf(pool: pg.Pool, itemId: string): Promise<AuditFacts[]> {
  const { rows } = await pool.query<AuditFacts>(
    `SELECT version, visit, epoch, from_state AS from, to_state AS to, trigger, actor,
       actor_type AS "actorType" FROM audit WHERE item_id = $1 ORDER BY id`,
    [itemId],
  );
  return rows;
}

/** What the last entry says besides the move. */
export async function lastMetadataOf(pool: pg.Pool, itemId: string): Promise<unknown> {
  const { rows } = await pool.query<{ metadata: unknown }>(
    'SELECT metadata FROM audit WHERE item_id = $1 ORDER BY id DESC LIMIT 1',
    [itemId],
  );
  return rows[0]?.metadata;
}

/** The moves of an item, as `from>to`. */
export async function movesOf(pool: pg.Pool, itemId: string): Promise<string[]> {
  return (await auditOf(pool, itemId)).map((each) => `${each.from ?? ''}>${each.to}`);
}

/** What is wrong with an item's trail: versions must go up by one from 1 to the row's, each entry must begin where the
 *  last one ended, and the last must end where the row is. */
export async function trailFaults(pool: pg.Pool, itemId: string): Promise<string[]> {
  const trail = await auditOf(pool, itemId);
  const item = await itemOf(pool, itemId);
  const faults: string[] = [];
  for (const [at, entry] of trail.entries()) {
    if (entry.version !== at + 1) faults.push(`entry ${String(at + 1)} has version ${String(entry.version)}`);
    const before = trail[at - 1]?.to ?? null;
    if (entry.from !== before)
      faults.push(`entry ${String(at + 1)} leaves ${String(entry.from)}, not ${String(before)}`);
  }
  const last = trail.at(-1);
  if (last?.to !== item.state) faults.push(`the row is in ${item.state}, the trail in ${String(last?.to)}`);
  if (last?.version !== item.version)
    faults.push(`the row has version ${String(item.version)}, the trail ${String(last?.version)}`);
  return faults;
}
