import type pg from 'pg';
import { asOfOneMoment } from './snapshot.js';

/** What the database says of one owner's canaries, read by statements of the auditor's own. */
export interface Facts {
  items: ItemFact[];
  effects: EffectFact[];
  moves: MoveFact[];
  decisions: { itemId: string; count: number }[];
}

export interface ItemFact {
  id: string;
  state: string;
  version: number;
  createdAt: Date;
  endedAt: Date | null;
}

export interface EffectFact {
  itemId: string;
  visit: number;
  stage: string;
  unit: string;
  count: number;
}

export interface MoveFact {
  itemId: string;
  version: number;
  from: string | null;
  to: string;
  trigger: string;
}

export async function readFacts(pool: pg.Pool, owner: string): Promise<Facts> {
  return asOfOneMoment(pool, (sql) => readAll(sql, owner));
}

async function readAll(sql: pg.ClientBase, owner: string): Promise<Facts> {
  const items = await sql.query<ItemFact>(
    `SELECT id, state, version, created_at AS "createdAt", ended_at AS "endedAt" FROM items WHERE owner = $1`,
    [owner],
  );
  const effects = await sql.query<EffectFact>(
    `SELECT e.item_id AS "itemId", e.visit, e.stage, e.unit, count(*)::int FROM canary_effects e
     JOIN items i ON i.id = e.item_id WHERE i.owner = $1 GROUP BY 1, 2, 3, 4`,
    [owner],
  );
  const moves = await sql.query<MoveFact>(
    `SELECT a.item_id AS "itemId", a.version, a.from_state AS from, a.to_state AS to, a.trigger FROM audit a
     JOIN items i ON i.id = a.item_id WHERE i.owner = $1 ORDER BY a.id`,
    [owner],
  );
  const decisions = await sql.query<{ itemId: string; count: number }>(
    `SELECT d.item_id AS "itemId", count(*)::int FROM decisions d
     JOIN items i ON i.id = d.item_id WHERE i.owner = $1 GROUP BY 1`,
    [owner],
  );
  return { items: items.rows, effects: effects.rows, moves: moves.rows, decisions: decisions.rows };
}

export async function countLive(pool: pg.Pool, owner: string): Promise<number> {
  return countOf(pool, 'SELECT count(*)::int FROM items WHERE owner = $1 AND ended_at IS NULL', [owner]);
}

export async function liveIds(pool: pg.Pool, owner: string): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM items WHERE owner = $1 AND ended_at IS NULL', [
    owner,
  ]);
  return rows.map((each) => each.id);
}

/** Attempts that a worker of that name is at just now. */
export async function countRunningOn(pool: pg.Pool, worker: string): Promise<number> {
  const text = `SELECT count(*)::int FROM tasks t JOIN workers w ON w.id = t.worker
    WHERE t.status = 'running' AND w.name = $1 AND w.started_at = (SELECT max(started_at) FROM workers WHERE name = $1)`;
  return countOf(pool, text, [worker]);
}

export async function countEffectsSince(pool: pg.Pool, since: Date): Promise<number> {
  return countOf(pool, 'SELECT count(*)::int FROM canary_effects WHERE at > $1', [since]);
}

/** How the faults showed: attempts that died with their worker, commits that came too late and were refused. */
export async function readMarks(pool: pg.Pool): Promise<{ crashed: number; refused: number }> {
  const crashed = await countOf(pool, `SELECT count(*)::int FROM attempts WHERE result = 'crash'`, []);
  return { crashed, refused: await countOf(pool, 'SELECT count(*)::int FROM refusals', []) };
}

/** The longest time in that span in which nothing was finished anywhere although somebody had work to do, in milliseconds.
 *  Waiting for a decision is not work. Gaps shorter than a stage takes are not looked at. */
export async function longestGap(pool: pg.Pool, from: Date, to: Date): Promise<number> {
  const { rows } = await pool.query<{ gap: number | null }>(
    `WITH busy AS MATERIALIZED (
       SELECT at AS since, lead(at, 1, 'infinity') OVER (PARTITION BY item_id ORDER BY version) AS until, to_state FROM audit
     ), gaps AS MATERIALIZED (
       SELECT lag(at, 1, $1::timestamptz) OVER (ORDER BY at) AS since, at AS until FROM canary_effects WHERE at BETWEEN $1 AND $2
     )
     SELECT extract(epoch FROM max(gaps.until - greatest(gaps.since, (
       SELECT min(busy.since) FROM busy
       WHERE busy.since < gaps.until AND busy.until >= gaps.until AND busy.to_state NOT IN ('AWAITING', 'DONE', 'FAILED')
     ))))::float8 * 1000 AS gap FROM gaps WHERE gaps.until - gaps.since > interval '200 milliseconds'`,
    [from, to],
  );
  return Math.round(rows[0]?.gap ?? 0);
}

async function countOf(pool: pg.Pool, text: string, values: unknown[]): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(text, values);
  return rows[0]?.count ?? 0;
}
