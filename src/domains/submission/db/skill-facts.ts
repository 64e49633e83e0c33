import type { Sql } from '../../../ports/sql.js';
import { storableText } from '../../../db/postgres/parameters.js';

export interface SkillFacts {
  stars: number | null;
  downloads: number | null;
  lastCommitAt: Date | null;
}

export interface AskedSkill {
  id: string;
  repoUrl: string;
}

/** Skills whose facts were last asked for before `before`, the longest ago first. */
export async function listToEnrich(sql: Sql, before: string, limit: number): Promise<AskedSkill[]> {
  const { rows } = await sql.query<AskedSkill>(
    `SELECT s.id, s.repo_url AS "repoUrl" FROM skills s LEFT JOIN skill_facts f ON f.skill_id = s.id
     WHERE f.tried_at IS NULL OR f.tried_at < $1::timestamptz
     ORDER BY f.tried_at NULLS FIRST, s.id LIMIT $2`,
    [before, limit],
  );
  return rows;
}

export async function storeFacts(sql: Sql, skillId: string, facts: SkillFacts): Promise<void> {
  await sql.query(
    `INSERT INTO skill_facts (skill_id, stars, downloads, last_commit_at, known_at, error)
     SELECT id, $2, $3, $4, now(), NULL FROM skills WHERE id = $1
     ON CONFLICT (skill_id) DO UPDATE SET stars = excluded.stars, downloads = excluded.downloads,
       last_commit_at = excluded.last_commit_at, known_at = now(), tried_at = now(), error = NULL`,
    [skillId, facts.stars, facts.downloads, facts.lastCommitAt],
  );
}

/** Keeps the facts that were known before, with their age. */
export async function storeFailure(sql: Sql, skillId: string, error: string): Promise<void> {
  await sql.query(
    `INSERT INTO skill_facts (skill_id, error) SELECT id, $2 FROM skills WHERE id = $1
     ON CONFLICT (skill_id) DO UPDATE SET tried_at = now(), error = excluded.error`,
    [skillId, storableText(error)],
  );
}
