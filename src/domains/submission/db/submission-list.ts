import type { Sql } from '../../../ports/sql.js';
import { branchesOf, hitOf, type ItemFilter } from '../../../db/reads/item-filter.js';
import { Parameters } from '../../../db/postgres/parameters.js';

export interface SubmissionFilter {
  state?: string | undefined;
  owner?: string | undefined;
  /** Part of a skill's name or of its repository's address. */
  q?: string | undefined;
}

export interface ListedSubmission {
  id: string;
  owner: string;
  state: string;
  skillName: string;
  repoUrl: string;
  isVendor: boolean;
  score: number | null;
  priority: number;
  createdAt: Date;
  enteredAt: Date;
  endedAt: Date | null;
  endReason: string | null;
}

export interface SubmissionScan {
  submissions: ListedSubmission[];
  examined: number;
  lastId: string | null;
}

export interface SubmissionBounds {
  sort: 'newest' | 'oldest';
  /** The last id of the page before. Null: this is the first page. */
  behind: string | null;
  /** The most rows that are examined. */
  examine: number;
  /** The most rows that are returned. */
  take: number;
}

/** Whether every row that the index gives fits the filter, so that no more rows than wanted need be examined. */
export function isExactSubmissionFilter({ owner, q }: SubmissionFilter): boolean {
  return owner === undefined && q === undefined;
}

/** Works like the list of items: an index gives the rows in order, and the rest of the filter is applied to at most
 *  `examine` of them. Each submission is read by its key, because with a join of some thousand rows the planner would
 *  read the whole table. */
export async function scanSubmissions(
  sql: Sql,
  { q, ...filter }: SubmissionFilter,
  { sort, behind, examine, take }: SubmissionBounds,
): Promise<SubmissionScan> {
  const p = new Parameters();
  const [direction, further] = sort === 'newest' ? ['DESC', '<'] : ['ASC', '>'];
  const limit = p.add(examine);
  const rowsBehind = behind === null ? '' : `AND id ${further} ${p.add(behind)}::uuid`;
  const wanted: ItemFilter = { ...filter, pipeline: 'submission' };
  const branches = branchesOf(wanted, p).map(
    (conditions) =>
      `(SELECT * FROM items WHERE ${conditions.join(' AND ')} ${rowsBehind} ORDER BY id ${direction} LIMIT ${limit})`,
  );
  const words = q === undefined ? 'true' : wordsOf(p.add(`%${q.replace(/[\\%_]/g, '\\$&')}%`));
  const { rows } = await sql.query<SubmissionScan & { submissions: Row[] | null }>(
    `WITH scanned AS MATERIALIZED (
       SELECT i.id, s.id IS NOT NULL AND ${hitOf(wanted, p)} AND ${words} AS hit
       FROM (SELECT * FROM (${branches.join(' UNION ALL ')}) b ORDER BY id ${direction} LIMIT ${limit}) i
       LEFT JOIN LATERAL (SELECT * FROM submissions WHERE id = i.id LIMIT 1) s ON true
     )
     SELECT (SELECT count(*)::int FROM scanned) AS examined,
       (SELECT id FROM scanned ORDER BY id ${sort === 'newest' ? 'ASC' : 'DESC'} LIMIT 1) AS "lastId",
       (SELECT json_agg(json_build_object(${COLUMNS}) ORDER BY i.id ${direction})
        FROM (SELECT id FROM scanned WHERE hit ORDER BY id ${direction} LIMIT ${p.add(take)}) picked
        JOIN items i USING (id) JOIN submissions s USING (id)) AS submissions`,
    p.values,
  );
  const [row] = rows;
  if (!row) throw new Error('a scan has no row');
  return { ...row, submissions: (row.submissions ?? []).map(submissionOf) };
}

const COLUMNS = `'id', i.id, 'owner', i.owner, 'state', i.state, 'skillName', s.skill_name, 'repoUrl', s.repo_url,
  'isVendor', s.is_vendor, 'score', s.tier2 -> 'score', 'priority', i.priority, 'createdAt', i.created_at,
  'enteredAt', i.entered_at, 'endedAt', i.ended_at, 'endReason', i.end_reason`;

/** A submission with times as JSON strings. */
type Row = {
  [Column in keyof ListedSubmission]: ListedSubmission[Column] extends Date ? string : ListedSubmission[Column];
};

function submissionOf(row: Row): ListedSubmission {
  const [createdAt, enteredAt] = [new Date(row.createdAt), new Date(row.enteredAt)];
  return { ...row, createdAt, enteredAt, endedAt: row.endedAt && new Date(row.endedAt) };
}

function wordsOf(pattern: string): string {
  return `(s.skill_name ILIKE ${pattern} OR s.repo_url ILIKE ${pattern})`;
}
