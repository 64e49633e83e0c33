import type pg from 'pg';

/** What an outage left behind, read from the tables. */
export interface AfterOutage {
  items: number;
  done: number;
  /** Effects that are there twice. */
  doubled: number;
  /** Effects there should be and are not. */
  missing: number;
  rescues: number;
  /** Items whose run is not their first. */
  restarted: number;
  errors: number;
  crashes: number;
  /** Attempts that were taken from a worker which lived all the time. */
  givenBack: number;
  /** Receipts by reason, and those among them that were never completed. */
  receipts: Record<string, number>;
  openReceipts: number;
  /** Tasks that were done before the outage ended. */
  finished: number;
  /** Of those, which were begun again. */
  finishedAgain: string[];
  /** Of the stages that were in flight all the time: how long their last attempt took, and how much there was to do. */
  longStages: { attempt: number; lastMs: number; ofMs: number }[];
}

export interface Asked {
  everybody: readonly string[];
  longOnes: readonly string[];
  longMs: number;
  finished: readonly string[];
}

/** How far the stage that is in flight has come by its checkpoint. */
export async function checkpointOf(pool: pg.Pool, itemId: string): Promise<number> {
  const { rows } = await pool.query<{ ms: number | null }>(
    `SELECT (checkpoint ->> 'doneMs')::int AS ms FROM tasks WHERE item_id = $1 AND stage = 'second'`,
    [itemId],
  );
  return rows[0]?.ms ?? 0;
}

export async function auditOutage(pool: pg.Pool, asked: Asked): Promise<AfterOutage> {
  const { everybody, finished } = asked;
  const { rows: sums } = await pool.query<Omit<AfterOutage, 'receipts' | 'finished' | 'finishedAgain' | 'longStages'>>(
    `SELECT count(*)::int AS items, count(*) FILTER (WHERE state = 'DONE')::int AS done, sum(rescues)::int AS rescues,
       count(*) FILTER (WHERE epoch > 1)::int AS restarted,
       (SELECT sum(errors)::int FROM tasks WHERE item_id = ANY ($1)) AS errors,
       (SELECT sum(crashes)::int FROM tasks WHERE item_id = ANY ($1)) AS crashes,
       (SELECT count(*)::int FROM attempts WHERE item_id = ANY ($1) AND result = 'given_back') AS "givenBack",
       (SELECT count(*)::int FROM receipts WHERE item_id = ANY ($1) AND result = 'waiting') AS "openReceipts",
       (SELECT count(*)::int FROM (SELECT 1 FROM canary_effects WHERE item_id = ANY ($1)
          GROUP BY item_id, visit, stage, unit HAVING count(*) > 1) twice) AS doubled,
       (SELECT count(*)::int FROM tasks t WHERE t.item_id = ANY ($1) AND NOT EXISTS (SELECT 1 FROM canary_effects e
          WHERE (e.item_id, e.visit, e.stage, e.unit) = (t.item_id, t.visit, t.stage, t.unit))) AS missing
     FROM items WHERE id = ANY ($1::uuid[])`,
    [everybody],
  );
  const [sum] = sums;
  if (!sum) throw new Error('the items are gone');
  const again = await finishedAgain(pool, finished);
  return {
    ...sum,
    receipts: await receiptsOf(pool, everybody),
    finished: finished.length,
    finishedAgain: again,
    longStages: await longStages(pool, asked),
  };
}

async function receiptsOf(pool: pg.Pool, ids: readonly string[]): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ reason: string; n: number }>(
    'SELECT reason, count(*)::int AS n FROM receipts WHERE item_id = ANY ($1::uuid[]) GROUP BY 1',
    [ids],
  );
  return Object.fromEntries(rows.map(({ reason, n }) => [reason, n]));
}

/** A task that is done and claimed again has a second attempt; those that needed more before they were done don't count. */
async function finishedAgain(pool: pg.Pool, finished: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ task: string }>(
    `SELECT concat_ws(' ', item_id, stage, unit) AS task FROM attempts WHERE result = 'done' GROUP BY 1 HAVING count(*) > 1`,
  );
  const twice = new Set(rows.map((each) => each.task));
  return finished.filter((task) => twice.has(task));
}

async function longStages(pool: pg.Pool, { longOnes, longMs }: Asked): Promise<AfterOutage['longStages']> {
  const { rows } = await pool.query<{ attempt: number; lastMs: number }>(
    `SELECT attempt, round(extract(epoch FROM ended_at - started_at) * 1000)::int AS "lastMs" FROM attempts
     WHERE item_id = ANY ($1::uuid[]) AND stage = 'second' AND result = 'done'`,
    [longOnes],
  );
  return rows.map((each) => ({ ...each, ofMs: longMs }));
}
