import type { Pipeline } from '../../../core/pipeline.js';
import { Parameters } from '../../../db/postgres/parameters.js';
import { ROW_FACTS, type RowColumns, type RowFacts, rowFactsOf } from '../../../db/recovery/row-facts.js';
import { stuckCondition } from '../../../db/recovery/stuck.js';
import { REASON_HOLDS } from '../../../db/recovery/swept-reason.js';
import type { Sql } from '../../../ports/sql.js';

export interface StuckFile {
  name: string;
  batchId: string;
  facts: RowFacts;
}

/** The condition that the file of the item `i` is stuck and its owner's. A null owner: anybody's. Few files are being deleted, so they are
 *  left out by their own index. A join of every file would read the files of others when there are few. */
export function stuckFileCondition(pipeline: Pipeline, owner: string | null, p: Parameters): string {
  const own = owner === null ? null : p.add(owner);
  const isOwn = own === null ? '' : ` AND i.owner = ${own}`;
  return `${stuckCondition(pipeline, p)}${isOwn}
    AND i.id NOT IN (SELECT d.id FROM files d WHERE d.deleting_at IS NOT NULL${own === null ? '' : ` AND d.owner = ${own}`})`;
}

export interface StuckPlace {
  at: Date;
  id: string;
}

/** Stuck files, those first that stopped longest ago. */
export async function listStuckFiles(
  sql: Sql,
  pipeline: Pipeline,
  { owner, behind, limit }: { owner: string | null; behind: StuckPlace | null; limit: number },
): Promise<StuckFile[]> {
  const p = new Parameters();
  const isBehind = behind
    ? ` AND (i.beat_at, i.id) > (${p.add(behind.at)}::timestamptz, ${p.add(behind.id)}::uuid)`
    : '';
  const { rows } = await sql.query<RowColumns & { name: string; batchId: string }>(
    `SELECT ${ROW_FACTS}, f.name, f.batch_id AS "batchId" FROM (
       SELECT i.* FROM items i WHERE ${stuckFileCondition(pipeline, owner, p)}${isBehind}
       ORDER BY i.beat_at, i.id LIMIT ${p.add(limit)}
     ) i JOIN files f ON f.id = i.id ORDER BY i.beat_at, i.id`,
    p.values,
  );
  return rows.map(({ name, batchId, ...row }) => ({ name, batchId, facts: rowFactsOf(row) }));
}

export async function countStuckFiles(sql: Sql, pipeline: Pipeline, owner: string | null): Promise<number> {
  const p = new Parameters();
  const { rows } = await sql.query<{ total: number }>(
    `SELECT count(*)::int AS total FROM items i WHERE ${stuckFileCondition(pipeline, owner, p)}`,
    p.values,
  );
  return rows[0]?.total ?? 0;
}

/** Reasons that the last sweep confirmed with Temporal: the run lives, and a second one would only stand behind it. */
const ALIVE = ['backlog', 'no_worker', 'paused', 'breaker_open', 'not_due', 'retrying', 'suspect_wait', 'running'];

export interface RetryCandidate {
  id: string;
  /** The last sweep found that its run lives, or it waits for the end of a hold. */
  isAlive: boolean;
}

/** Ids of stuck files in their order. */
export async function listToRetry(
  sql: Sql,
  pipeline: Pipeline,
  { owner, behind, limit }: { owner: string | null; behind: string | null; limit: number },
): Promise<RetryCandidate[]> {
  const p = new Parameters();
  const isBehind = behind === null ? '' : ` AND i.id > ${p.add(behind)}::uuid`;
  const { rows } = await sql.query<RetryCandidate>(
    `SELECT i.id, (${REASON_HOLDS} AND i.reason = ANY (${p.add(ALIVE)}::text[])) AS "isAlive"
     FROM items i WHERE ${stuckFileCondition(pipeline, owner, p)}${isBehind}
     ORDER BY i.id LIMIT ${p.add(limit)}`,
    p.values,
  );
  return rows;
}

/** A file as its retry finds it. A file of somebody else and a file that never was are the same to this statement. `owner` null:
 *  anybody's. */
export async function findRetriedFile(
  sql: Sql,
  { id, owner }: { id: string; owner: string | null },
): Promise<{ owner: string; state: string; isFinal: boolean; rescues: number } | null> {
  const { rows } = await sql.query<{ owner: string; state: string; isFinal: boolean; rescues: number }>(
    `SELECT i.owner, i.state, i.ended_at IS NOT NULL AS "isFinal", i.rescues FROM files f JOIN items i ON i.id = f.id
     WHERE f.id = $1 AND f.deleting_at IS NULL AND ($2::text IS NULL OR f.owner = $2)`,
    [id, owner],
  );
  return rows[0] ?? null;
}
