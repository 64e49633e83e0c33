import { type SubmissionMoves, type SubmissionRates, submissionRates } from '../core/submission-rates.js';
import type { Sql } from '../../../ports/sql.js';

export interface SubmissionStats {
  total: number;
  live: number;
  byState: Record<string, number>;
  /** Published skills, and versions of them. */
  skills: number;
  versions: number;
  lastDay: { received: number; ended: number };
  /** Of the last week. */
  rates: SubmissionRates;
}

const PIPELINE = 'submission';

/** Reads every finished submission, by an index: work for a schedule, never for a request. */
export async function computeSubmissionStats(sql: Sql): Promise<SubmissionStats> {
  const states = await countStates(sql);
  const [registry, lastDay, moves] = [await countRegistry(sql), await countLastDay(sql), await countMoves(sql)];
  const sumOf = (counted: readonly Counted[]): number => counted.reduce((sum, { count }) => sum + count, 0);
  return {
    total: sumOf(states),
    live: sumOf(states.filter(({ isLive }) => isLive)),
    byState: Object.fromEntries(states.map(({ state, count }) => [state, count])),
    ...registry,
    lastDay,
    rates: submissionRates(moves),
  };
}

interface Counted {
  state: string;
  count: number;
  isLive: boolean;
}

/** In two halves, as the indexes are. */
async function countStates(sql: Sql): Promise<Counted[]> {
  const half = (isLive: boolean): string => `
    SELECT state, count(*)::int AS count, ${String(isLive)} AS "isLive" FROM items
    WHERE pipeline = $1 AND ended_at IS ${isLive ? '' : 'NOT '}NULL GROUP BY state`;
  const { rows } = await sql.query<Counted>(`${half(true)} UNION ALL ${half(false)}`, [PIPELINE]);
  return rows;
}

async function countRegistry(sql: Sql): Promise<{ skills: number; versions: number }> {
  const { rows } = await sql.query<{ skills: number; versions: number }>(
    `SELECT (SELECT count(*)::int FROM skills) AS skills, (SELECT count(*)::int FROM skill_versions) AS versions`,
  );
  return rows[0] ?? { skills: 0, versions: 0 };
}

/** From the moves themselves: the hours that are rolled up lag behind the states that are counted here. */
async function countLastDay(sql: Sql): Promise<{ received: number; ended: number }> {
  const { rows } = await sql.query<{ received: number; ended: number }>(
    `SELECT (count(*) FILTER (WHERE from_state IS NULL))::int AS received,
       (count(DISTINCT item_id) FILTER (WHERE to_state IN ('PUBLISHED', 'REJECTED', 'TIER1_FAILED')))::int AS ended
     FROM audit WHERE at > now() - interval '24 hours' AND pipeline = $1 AND from_state IS DISTINCT FROM to_state`,
    [PIPELINE],
  );
  return rows[0] ?? { received: 0, ended: 0 };
}

/** A cancelled submission was neither judged nor did it fail: its end is left out. */
async function countMoves(sql: Sql): Promise<SubmissionMoves> {
  const { rows } = await sql.query<{ state: string; count: number; byPerson: number; givenUp: number }>(
    `SELECT to_state AS state, count(DISTINCT item_id)::int AS count,
       (count(*) FILTER (WHERE to_state = 'REJECTED' AND actor_type IN ('reviewer', 'admin')))::int AS "byPerson",
       (count(*) FILTER (WHERE to_state = 'REJECTED' AND trigger IN ('stuck-exhausted', 'poison')))::int AS "givenUp"
     FROM audit
     WHERE at > now() - interval '7 days' AND pipeline = $1 AND from_state IS DISTINCT FROM to_state AND trigger <> 'cancelled'
     GROUP BY to_state`,
    [PIPELINE],
  );
  const sum = (value: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((total, row) => total + value(row), 0);
  return {
    byState: Object.fromEntries(rows.map(({ state, count }) => [state, count])),
    rejectedByPerson: sum(({ byPerson }) => byPerson),
    givenUp: sum(({ givenUp }) => givenUp),
  };
}
