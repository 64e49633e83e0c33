import type pg from 'pg';

async function countOf(pool: pg.Pool, text: string, values: unknown[] = []): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(text, values);
  return rows[0]?.count ?? 0;
}

export function countInState(pool: pg.Pool, owner: string, state: string): Promise<number> {
  return countOf(pool, 'SELECT count(*)::int FROM items WHERE owner = $1 AND state = $2', [owner, state]);
}

export function countDecided(pool: pg.Pool, owner: string): Promise<number> {
  const text = 'SELECT count(*)::int FROM decisions d JOIN items i ON i.id = d.item_id WHERE i.owner = $1';
  return countOf(pool, text, [owner]);
}

/** Attempts that workers of that build have ended. */
export function countAttemptsOf(pool: pg.Pool, build: string): Promise<number> {
  const text = 'SELECT count(*)::int FROM attempts a JOIN workers w ON w.id = a.worker WHERE w.build = $1';
  return countOf(pool, text, [build]);
}

/** Whether a worker of that name has just begun a stage that it can't end before it must stop. */
export async function runsLongStage(pool: pg.Pool, worker: string, withinMs: number): Promise<true | null> {
  const text = `SELECT count(*)::int FROM tasks t JOIN workers w ON w.id = t.worker JOIN canaries c ON c.id = t.item_id
    WHERE t.status = 'running' AND t.stage = 'second' AND w.name = $1 AND w.stopped_at IS NULL
      AND c.stage_ms[2] = (SELECT max(stage_ms[2]) FROM canaries) AND t.started_at > now() - $2 * interval '1 millisecond'`;
  return (await countOf(pool, text, [worker, withinMs])) > 0 || null;
}

export interface Marks {
  /** Ended attempts by build of their worker and how they ended. */
  attempts: { build: string; result: string; count: number }[];
  /** Attempts that a worker which was asked to stop left as a dead one would. */
  leftBehind: number;
  rescues: number;
  receipts: number;
  refusals: number;
  /** Runs that a sweep found unable to go on. */
  wedged: number;
}

export async function readMarks(pool: pg.Pool): Promise<Marks> {
  const { rows } = await pool.query<Marks['attempts'][number]>(
    `SELECT COALESCE(w.build, 'unknown') AS build, a.result, count(*)::int FROM attempts a
     LEFT JOIN workers w ON w.id = a.worker GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  const wedged = `SELECT COALESCE(sum((result -> 'byReason' ->> 'wedged')::int), 0)::int AS count FROM job_executions`;
  const leftBehind = `SELECT count(*)::int FROM attempts a JOIN workers w ON w.id = a.worker
    WHERE a.result = 'crash' AND w.stopped_at <= a.ended_at`;
  return {
    attempts: rows,
    leftBehind: await countOf(pool, leftBehind),
    rescues: await countOf(pool, 'SELECT COALESCE(sum(rescues), 0)::int AS count FROM items'),
    receipts: await countOf(pool, 'SELECT count(*)::int FROM receipts'),
    refusals: await countOf(pool, 'SELECT count(*)::int FROM refusals'),
    wedged: await countOf(pool, wedged),
  };
}

/** The build of each worker that ever registered. */
export async function readBuilds(pool: pg.Pool): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; build: string }>('SELECT id, build FROM workers');
  return new Map(rows.map(({ id, build }) => [id, build]));
}

/** Items whose run somebody was told of as wedged. */
export async function readWedged(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(`SELECT item_id AS id FROM outbox WHERE kind = 'item_wedged'`);
  return rows.map(({ id }) => id);
}
