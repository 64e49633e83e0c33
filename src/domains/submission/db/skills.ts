import { v7 as uuidv7 } from 'uuid';
import { frontMatterText } from '../core/text/front-matter.js';
import { nextVersion, type VersionedSkill } from '../core/version/skill-version.js';
import type { Sql } from '../../../ports/sql.js';
import type { JsonObject } from '../../../ports/stage.js';
import { findFiles } from './skill-contents.js';

/** The way in which a version came to be published. */
export type Certification =
  { tier: 'vendor'; method: 'vendor' } | { tier: 'tier2'; method: 'automatic' } | { tier: 'tier3'; method: 'review' };

interface SkillKey {
  repoUrl: string;
  skillName: string;
}

interface Submitted extends SkillKey {
  commit: string;
  contentHash: string;
  score: number | null;
}

/** Makes a submission's content the newest version of its skill, in the transaction that ends the submission. The
 *  contents are compared while the transaction holds its locks. For two contents of the largest size that is fetched,
 *  in some thirty shapes made to be slow, the comparison took less than half a second on two busy cores, and a session
 *  may idle for three times as long. Content that was published before makes no new version. Returns the metadata of
 *  the audit entry. */
export async function publishSkill(
  transaction: Sql,
  submissionId: string,
  certification: Certification,
): Promise<JsonObject> {
  const submitted = await findSubmitted(transaction, submissionId);
  const skillId = await lockSkill(transaction, submitted);
  const latest = await findLatestVersion(transaction, skillId);
  const content = await readVersioned(transaction, submitted.contentHash);
  const previous = latest && { ...(await readVersioned(transaction, latest.contentHash)), version: latest.version };
  const next = nextVersion(previous, content);
  if (next.change === 'none') return { version: next.version, skillId, unchanged: true };
  await transaction.query(
    `WITH updated AS (UPDATE skills SET updated_at = now() WHERE id = $1)
     INSERT INTO skill_versions (skill_id, number, version, content_hash, commit, description, tier, method, score, submission_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      skillId,
      (latest?.number ?? 0) + 1,
      next.version,
      submitted.contentHash,
      submitted.commit,
      descriptionOf(content),
      certification.tier,
      certification.method,
      submitted.score,
      submissionId,
    ],
  );
  return { version: next.version, skillId, ...(next.reasons.length > 0 && { because: [...next.reasons] }) };
}

/** A final `.git` is cut off, because the repository is the same with and without it. */
async function findSubmitted(transaction: Sql, id: string): Promise<Submitted> {
  const { rows } = await transaction.query<Submitted>(
    `SELECT regexp_replace(repo_url, '\\.git$', '') AS "repoUrl", skill_name AS "skillName", commit,
       content_hash AS "contentHash", (tier2 ->> 'score')::int AS score
     FROM submissions WHERE id = $1 AND content_hash IS NOT NULL`,
    [id],
  );
  const [submitted] = rows;
  if (!submitted) throw new Error(`submission ${id} was not fetched`);
  return submitted;
}

/** Locks the skill's row, so that another transaction that publishes the same skill waits and versions follow one
 *  another. Names are compared without regard to case. Submitting compares them in the same way, so two spellings are
 *  never in progress at once. */
async function lockSkill(transaction: Sql, { repoUrl, skillName }: Submitted): Promise<string> {
  for (const name of namesFor(repoUrl, skillName)) {
    await transaction.query(
      `INSERT INTO skills (id, name, repo_url, skill_name) SELECT $1, $2, $3, $4
       WHERE NOT EXISTS (SELECT 1 FROM skills WHERE repo_url = $3 AND lower(skill_name) = lower($4)) ON CONFLICT DO NOTHING`,
      [uuidv7(), name, repoUrl, skillName],
    );
    const { rows } = await transaction.query<{ id: string }>(
      'SELECT id FROM skills WHERE repo_url = $1 AND lower(skill_name) = lower($2) FOR UPDATE',
      [repoUrl, skillName],
    );
    if (rows[0]) return rows[0].id;
  }
  throw new Error(`no name is left for ${skillName} of ${repoUrl}`);
}

/** Names to try in order: the skill's own name, the name with its owner if another repository has the first, and a
 *  unique name. */
function namesFor(repoUrl: string, skillName: string): string[] {
  const owner = /([^/:]+)\/[^/]+\/?$/.exec(repoUrl)?.[1]?.toLowerCase() ?? 'local';
  return [skillName, `${skillName}-${owner}`, `${skillName}-${uuidv7()}`];
}

interface Latest {
  number: number;
  version: string;
  contentHash: string;
}

async function findLatestVersion(transaction: Sql, skillId: string): Promise<Latest | null> {
  const { rows } = await transaction.query<Latest>(
    `SELECT number, version, content_hash AS "contentHash" FROM skill_versions
     WHERE skill_id = $1 ORDER BY number DESC LIMIT 1`,
    [skillId],
  );
  return rows[0] ?? null;
}

/** The content of the newest version of a skill. Null: the skill is not published. */
export async function findNewestContent(sql: Sql, { repoUrl, skillName }: SkillKey): Promise<string | null> {
  const { rows } = await sql.query<{ contentHash: string }>(
    `SELECT v.content_hash AS "contentHash" FROM skills k JOIN skill_versions v ON v.skill_id = k.id
     WHERE k.repo_url = regexp_replace($1, '\\.git$', '') AND lower(k.skill_name) = lower($2)
     ORDER BY v.number DESC LIMIT 1`,
    [repoUrl, skillName],
  );
  return rows[0]?.contentHash ?? null;
}

async function readVersioned(transaction: Sql, contentHash: string): Promise<VersionedSkill> {
  const files = (await findFiles(transaction, contentHash)) ?? [];
  const text = new TextDecoder();
  return {
    contentHash,
    files: files.map(({ path, bytes, isExecutable }) => ({ path, text: text.decode(bytes), isExecutable })),
  };
}

function descriptionOf({ files }: VersionedSkill): string {
  return frontMatterText(files.find(({ path }) => path === 'SKILL.md')?.text ?? '', 'description');
}
