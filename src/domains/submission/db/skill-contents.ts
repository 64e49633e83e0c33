import type { Skill, SkillFile } from '../ports/skill.js';
import type { Sql } from '../../../ports/sql.js';
import { queryPrepared } from '../../../db/postgres/client.js';

/** Stores the content that was fetched for a submission. The same content is stored once, and its row is locked, so
 *  that retention does not delete it meanwhile. Scan and judgement of other content are cleared, because they would
 *  count for this content. */
export async function keepContent(transaction: Sql, submissionId: string, skill: Skill): Promise<void> {
  const { contentHash, commit, files } = skill;
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
  const { rows } = await transaction.query<{ isNew: boolean }>(
    `INSERT INTO skill_contents (hash, bytes) VALUES ($1, $2)
     ON CONFLICT (hash) DO UPDATE SET fetched_at = now() RETURNING xmax = 0 AS "isNew"`,
    [contentHash, bytes],
  );
  if (rows[0]?.isNew) await insertFiles(transaction, contentHash, files);
  await transaction.query(
    `UPDATE submissions SET commit = $2, content_hash = $3,
       tier1 = CASE WHEN content_hash = $3 THEN tier1 END, tier2 = CASE WHEN content_hash = $3 THEN tier2 END
     WHERE id = $1`,
    [submissionId, commit, contentHash],
  );
}

async function insertFiles(transaction: Sql, contentHash: string, files: readonly SkillFile[]): Promise<void> {
  await transaction.query(
    `INSERT INTO skill_files (content_hash, path, bytes, is_executable)
     SELECT $1, f.path, f.bytes, f.is_executable
     FROM unnest($2::text[], $3::bytea[], $4::boolean[]) AS f (path, bytes, is_executable)`,
    [
      contentHash,
      files.map((file) => file.path),
      files.map((file) => Buffer.from(file.bytes)),
      files.map((file) => file.isExecutable),
    ],
  );
}

/** The files of a content, sorted by path as they were fetched. Null: the content was never stored, or was deleted. */
export async function findFiles(sql: Sql, contentHash: string): Promise<SkillFile[] | null> {
  const rows = await queryPrepared<SkillFile>(
    sql,
    'SELECT path, bytes, is_executable AS "isExecutable" FROM skill_files WHERE content_hash = $1 ORDER BY path COLLATE "C"',
    [contentHash],
  );
  return rows.length > 0 ? rows : null;
}
