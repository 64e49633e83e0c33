import { type SubmissionMoves, type SubmissionRates, submissionRates } from '../core/submission-rates.js';
import type { Figure } from '../../../core/figures.js';
import { sumLatestFigures } from '../../../db/reads/figure-list.js';
import type { Sql } from '../../../ports/sql.js';

export interface SubmissionStats {
  total: number;
  live: number;
  byState: Record<string, number>;
  /** Published skills, and versions of them. */
  skills: number;
  versions: number;
  /** Of the present hour and the 24 before it. */
  lastDay: { received: number; ended: number };
  /** Of this day and the six before it, in UTC. */
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

/** By whole hours: the present one, and the 24 before it. */
async function countLastDay(sql: Sql): Promise<SubmissionStats['lastDay']> {
  const figures = await sumLatestFigures(sql, PIPELINE, { span: 'hour', count: 25 });
  return {
    received: countOf(figures, ({ kind, class: how }) => kind === 'move' && how === 'created'),
    ended: countOf(figures, ({ kind }) => kind === 'end'),
  };
}

/** Of this day and the six before it, in UTC. A cancelled submission was neither judged nor did it fail: its end is left out. */
async function countMoves(sql: Sql): Promise<SubmissionMoves> {
  const figures = await sumLatestFigures(sql, PIPELINE, { span: 'day', count: 7 });
  const moves = figures.filter(({ kind, class: how }) => kind === 'move' && how !== 'cancelled');
  const states = [...new Set(moves.map(({ outcome }) => outcome))];
  return {
    byState: Object.fromEntries(states.map((state) => [state, countOf(moves, ({ outcome }) => outcome === state)])),
    rejectedByPerson: countOf(moves, ({ outcome, class: how }) => outcome === 'REJECTED' && how === 'decided'),
    givenUp: countOf(moves, ({ class: how }) => how === 'given_up'),
  };
}

function countOf(figures: readonly Figure[], isMeant: (figure: Figure) => boolean): number {
  return figures.filter(isMeant).reduce((sum, { count }) => sum + count, 0);
}
