import type { Sql } from '../../../ports/sql.js';
import { queryPrepared } from '../../../db/postgres/client.js';
import type { StoredAddress, SubmissionRow } from './submissions.js';

/** The fields of a submission that the answer to its submitter needs. */
export interface SubmissionHead extends StoredAddress {
  id: string;
  owner: string;
  state: string;
  isVendor: boolean;
  createdAt: Date;
}

const HEAD = `SELECT i.id, i.owner, i.state, s.skill_path AS "skillPath", s.ref, s.is_vendor AS "isVendor", i.created_at AS "createdAt"
  FROM submissions s JOIN items i ON i.id = s.id`;

export async function findSubmissionHead(sql: Sql, id: string): Promise<SubmissionHead> {
  const [head] = await queryPrepared<SubmissionHead>(sql, `${HEAD} WHERE s.id = $1`, [id]);
  if (!head) throw new Error(`there is no submission ${id}`);
  return head;
}

export interface Fetched {
  repoUrl: string;
  skillName: string;
  skillPath?: string | undefined;
  commit: string;
  /** Where it is set, the submission must have had this content. */
  contentHash?: string;
}

/** The submission that published this skill from exactly this commit. */
export async function findVerified(sql: Sql, fetched: Fetched): Promise<SubmissionHead | null> {
  const { repoUrl, skillName, skillPath, commit, contentHash } = fetched;
  const [head] = await queryPrepared<SubmissionHead>(
    sql,
    `${HEAD} WHERE s.repo_url = $1 AND lower(s.skill_name) = lower($2) AND s.skill_path IS NOT DISTINCT FROM $3
       AND s.commit = $4 AND ($5::text IS NULL OR s.content_hash = $5) AND i.state = 'PUBLISHED'
     ORDER BY s.id DESC LIMIT 1`,
    [repoUrl, skillName, skillPath ?? null, commit.toLowerCase(), contentHash ?? null],
  );
  return head ?? null;
}

export interface SubmissionRecord extends Omit<SubmissionRow, keyof StoredAddress>, StoredAddress {
  isVendor: boolean;
  published: { skillId: string; name: string; version: string } | null;
}

/** The facts of a submission that its item does not hold. */
export async function findSubmissionRecord(sql: Sql, id: string): Promise<SubmissionRecord | null> {
  const [record] = await queryPrepared<SubmissionRecord>(
    sql,
    `SELECT s.repo_url AS "repoUrl", s.skill_name AS "skillName", s.skill_path AS "skillPath", s.ref, s.commit,
       s.content_hash AS "contentHash", s.tier1, s.tier2, s.is_vendor AS "isVendor",
       (SELECT json_build_object('skillId', k.id, 'name', k.name, 'version', a.metadata ->> 'version')
        FROM audit a JOIN skills k ON k.id = (a.metadata ->> 'skillId')::uuid
        WHERE a.item_id = s.id AND a.to_state = 'PUBLISHED' LIMIT 1) AS published
     FROM submissions s WHERE s.id = $1`,
    [id],
  );
  return record ?? null;
}
