import type { Judgement } from '../ports/judge.js';
import type { SkillAddress } from '../ports/skill.js';
import type { ScanResult } from '../ports/skill-scanner.js';
import type { Sql, Statement } from '../../../ports/sql.js';
import type { Save } from '../../../ports/stage.js';
import { queryPrepared } from '../../../db/postgres/client.js';
import { storableJson } from '../../../db/postgres/parameters.js';

/** A submission as it was made. */
export interface NewSubmission extends SkillAddress {
  email?: string | undefined;
  /** Whether the settings name the owner as a vendor now. The first stage decides it again. */
  isVendor?: boolean;
}

/** The facts of a submission that its stages work with. */
export interface SubmissionRow extends SkillAddress {
  commit: string | null;
  contentHash: string | null;
  tier1: ScanResult | null;
  tier2: Judgement | null;
}

/** The optional fields of an address, as a row stores them. */
export interface StoredAddress {
  skillPath: string | null;
  ref: string | null;
}

/** The submission's own row, inserted with its item. */
export function submissionRow(submission: NewSubmission): Statement {
  const { repoUrl, skillName, skillPath, ref, email, isVendor } = submission;
  return {
    text: `INSERT INTO submissions (id, repo_url, skill_name, skill_path, ref, email, is_vendor)
      SELECT id, $1::text, $2::text, $3::text, $4::text, $5::text, $6::boolean FROM item`,
    values: [repoUrl, skillName, skillPath ?? null, ref ?? null, email ?? null, isVendor ?? false],
  };
}

export async function findSubmission(sql: Sql, id: string): Promise<SubmissionRow> {
  const [found] = await queryPrepared<SubmissionRow & StoredAddress>(
    sql,
    `SELECT repo_url AS "repoUrl", skill_name AS "skillName", skill_path AS "skillPath", ref, commit,
       content_hash AS "contentHash", tier1, tier2
     FROM submissions WHERE id = $1`,
    [id],
  );
  if (!found) throw new Error(`there is no submission ${id}`);
  return { ...found, skillPath: found.skillPath ?? undefined, ref: found.ref ?? undefined };
}

export function saveVendor(isVendor: boolean): Statement {
  return {
    text: 'UPDATE submissions s SET is_vendor = $1::boolean FROM guard WHERE s.id = guard.item_id',
    values: [isVendor],
  };
}

export function saveScan(result: ScanResult): Statement {
  return {
    text: 'UPDATE submissions s SET tier1 = $1::jsonb FROM guard WHERE s.id = guard.item_id',
    values: [storableJson(result)],
  };
}

/** Also caches the judgement for other submissions of the same content, as long as `key` is the same. */
export function saveJudgement(id: string, key: string, judgement: Judgement): Save {
  return async (transaction) => {
    const { rows } = await transaction.query<{ contentHash: string | null }>(
      'UPDATE submissions SET tier2 = $2::jsonb WHERE id = $1 RETURNING content_hash AS "contentHash"',
      [id, storableJson(judgement)],
    );
    await transaction.query(
      `INSERT INTO judgements (content_hash, judge, judgement) SELECT $1::text, $2, $3::jsonb WHERE $1::text IS NOT NULL
       ON CONFLICT (content_hash, judge) DO UPDATE SET judgement = excluded.judgement
         WHERE judgements.judgement <> excluded.judgement`,
      [rows[0]?.contentHash ?? null, key, storableJson(judgement)],
    );
  };
}

export async function findJudgement(sql: Sql, contentHash: string, key: string): Promise<Judgement | null> {
  const [found] = await queryPrepared<{ judgement: Judgement }>(
    sql,
    'SELECT judgement FROM judgements WHERE content_hash = $1 AND judge = $2',
    [contentHash, key],
  );
  return found?.judgement ?? null;
}

/** The names of the skills, by the id of their submission. */
export async function findSkillNames(sql: Sql, ids: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await sql.query<{ id: string; skillName: string }>(
    'SELECT id, skill_name AS "skillName" FROM submissions WHERE id = ANY ($1)',
    [ids],
  );
  return new Map(rows.map(({ id, skillName }) => [id, skillName]));
}
