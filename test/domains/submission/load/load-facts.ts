import type pg from 'pg';
import { countOf } from '../../../storm/storm-facts.js';

/** What the database says of a load, read by statements of the tester's own. */
export interface LoadFacts {
  settled: Settled[];
  /** Milliseconds of every attempt that ended well, by stage. */
  stageMs: Record<string, number[]>;
  /** Of the scanner itself, without claim and commit. */
  scanMs: number[];
  /** From the judge's approval until it is published. */
  publishMs: number[];
  /** From its acceptance until its first stage began. */
  startMs: number[];
  stagesTwice: number;
  versions: number;
  published: number;
  brokenTrails: number;
  /** Attempts that did not end well, by stage, result and class of error. */
  failedAttempts: Record<string, number>;
  rescues: number;
}

export interface Settled {
  id: string;
  state: string;
  /** From its acceptance until its end, or until it waits for a person. */
  ms: number;
}

/** Neither ended nor with a person. */
export function liveCount(pool: pg.Pool): Promise<number> {
  return countOf(pool, `SELECT count(*) FROM items WHERE ended_at IS NULL AND state <> 'NEEDS_REVIEW'`);
}

const PUBLISHED = `SELECT count(*) FROM items WHERE state = 'PUBLISHED'`;

export async function loadFacts(pool: pg.Pool): Promise<LoadFacts> {
  const settled = await pool.query<Settled>(
    `SELECT id, state, ${ms('COALESCE(ended_at, entered_at) - created_at')} AS ms FROM items WHERE pipeline = 'submission'`,
  );
  const stages = await pool.query<{ stage: string; all: number[] }>(
    `SELECT stage, array_agg(${ms('ended_at - started_at')}) AS all FROM attempts WHERE result = 'done' GROUP BY 1`,
  );
  return {
    settled: settled.rows,
    stageMs: Object.fromEntries(stages.rows.map(({ stage, all }) => [stage, all])),
    scanMs: await listOf(
      pool,
      `SELECT (tier1 ->> 'durationMs')::float8 AS ms FROM submissions WHERE tier1 IS NOT NULL`,
    ),
    publishMs: await listOf(
      pool,
      `SELECT ${ms('p.at - a.at')} AS ms FROM audit p JOIN audit a ON a.item_id = p.item_id AND a.version = p.version - 1
       WHERE p.to_state = 'PUBLISHED'`,
    ),
    startMs: await listOf(
      pool,
      `SELECT ${ms('min(a.started_at) - i.created_at')} AS ms FROM items i JOIN attempts a ON a.item_id = i.id GROUP BY i.id`,
    ),
    stagesTwice: await countOf(
      pool,
      `SELECT count(*) FROM (SELECT 1 FROM attempts WHERE result = 'done' GROUP BY item_id, stage HAVING count(*) > 1) AS t`,
    ),
    versions: await countOf(pool, `SELECT count(*) FROM skill_versions WHERE number = 1 AND version = '1.0.0'`),
    published: await countOf(pool, PUBLISHED),
    brokenTrails: await countOf(
      pool,
      `SELECT count(*) FROM items i WHERE i.version <> (SELECT count(DISTINCT a.version) FROM audit a WHERE a.item_id = i.id)
         OR i.version <> (SELECT max(a.version) FROM audit a WHERE a.item_id = i.id)`,
    ),
    failedAttempts: await failedAttemptsOf(pool),
    rescues: await countOf(pool, 'SELECT sum(rescues) FROM items'),
  };
}

async function failedAttemptsOf(pool: pg.Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ what: string; n: number }>(
    `SELECT concat_ws(' ', stage, result, error_class) AS what, count(*)::int AS n FROM attempts WHERE result <> 'done' GROUP BY 1`,
  );
  return Object.fromEntries(rows.map(({ what, n }) => [what, n]));
}

function ms(interval: string): string {
  return `(extract(epoch FROM ${interval}) * 1000)::float8`;
}

async function listOf(pool: pg.Pool, text: string): Promise<number[]> {
  const { rows } = await pool.query<{ ms: number }>(text);
  return rows.map((row) => row.ms);
}
