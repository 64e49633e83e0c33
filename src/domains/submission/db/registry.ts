import type pg from 'pg';
import type { Sql } from '../../../ports/sql.js';
import { Parameters } from '../../../db/postgres/parameters.js';

/** One version of a skill, as it was published. */
export interface PublishedVersion {
  number: number;
  version: string;
  description: string;
  commit: string;
  contentHash: string;
  tier: string;
  method: string;
  score: number | null;
  publishedAt: Date;
}

/** A skill and its newest version. */
export interface RegisteredSkill extends Omit<PublishedVersion, 'publishedAt'> {
  id: string;
  name: string;
  repoUrl: string;
  skillName: string;
  publishedAt: Date;
  updatedAt: Date;
  facts: RegisteredFacts | null;
}

/** Facts from GitHub and npm, with times as JSON strings. */
export interface RegisteredFacts {
  stars: number | null;
  downloads: number | null;
  lastCommitAt: string | null;
  knownAt: string;
}

const VERSION = `v.number, v.version, v.description, v.commit, v.content_hash AS "contentHash", v.tier, v.method, v.score`;

const SKILL = `s.id, s.name, s.repo_url AS "repoUrl", s.skill_name AS "skillName", s.published_at AS "publishedAt",
  s.updated_at AS "updatedAt", ${VERSION}, (
    SELECT json_build_object('stars', stars, 'downloads', downloads, 'lastCommitAt', last_commit_at, 'knownAt', known_at)
    FROM skill_facts WHERE skill_id = s.id AND known_at IS NOT NULL) AS facts`;

const NEWEST = `JOIN LATERAL (SELECT * FROM skill_versions WHERE skill_id = s.id ORDER BY number DESC LIMIT 1) v ON true`;

/** Where a page of the registry ended. */
export type SkillCursor = { name: string } | { updatedAt: Date; id: string };

export type SkillOrder = 'name' | 'newest';

export interface SkillPage {
  /** Part of the name or the description, without regard to case. */
  q?: string | undefined;
  sort: SkillOrder;
  after: SkillCursor | null;
  limit: number;
}

export interface SkillList {
  skills: RegisteredSkill[];
  /** Where the next page begins. Null: this is the last page. */
  next: SkillCursor | null;
}

/** The most skills that one request examines. A search reads each of them, because no index covers words. */
const EXAMINED = 2_000;

/** One page of the registry. The work is bounded, so a page may be short or empty and still have a next page. */
export async function listSkills(pool: pg.Pool, { q, sort, after, limit }: SkillPage): Promise<SkillList> {
  const p = new Parameters();
  const examine = q === undefined ? limit + 1 : EXAMINED;
  const hit = q === undefined ? 'true' : `strpos(lower(s.name || ' ' || v.description), lower(${p.add(q)})) > 0`;
  const { rows } = await pool.query<RegisteredSkill & { isMark: boolean }>(
    `WITH scanned AS MATERIALIZED (
       SELECT ${SKILL}, ${hit} AS hit, row_number() OVER (ORDER BY ${ORDER[sort]}) AS position
       FROM (SELECT * FROM skills s ${afterCondition(after, p)} ORDER BY ${ORDER[sort]} LIMIT ${p.add(examine)}) s ${NEWEST}
     ), picked AS (SELECT * FROM scanned WHERE hit ORDER BY position LIMIT ${p.add(limit + 1)})
     SELECT *, false AS "isMark" FROM picked
     UNION ALL SELECT *, true FROM scanned WHERE position = ${p.add(examine)}
     ORDER BY position, "isMark"`,
    p.values,
  );
  const fitting = rows.filter(({ isMark }) => !isMark);
  const skills = fitting.slice(0, limit);
  // More skills fit than the page shows, or there may be more behind the last skill that was examined.
  const last = fitting.length > limit ? skills.at(-1) : rows.find(({ isMark }) => isMark);
  return { skills, next: last ? cursorOf(sort, last) : null };
}

const ORDER = { name: 's.name', newest: 's.updated_at DESC, s.id DESC' } as const satisfies Record<SkillOrder, string>;

function afterCondition(after: SkillCursor | null, p: Parameters): string {
  if (after === null) return '';
  if ('name' in after) return `WHERE s.name > ${p.add(after.name)}`;
  return `WHERE (s.updated_at, s.id) < (${p.add(after.updatedAt)}::timestamptz, ${p.add(after.id)}::uuid)`;
}

function cursorOf(sort: SkillOrder, { name, updatedAt, id }: RegisteredSkill): SkillCursor {
  return sort === 'name' ? { name } : { updatedAt, id };
}

/** Case is ignored, because names are unique without regard to case. */
export async function findRegisteredSkill(sql: Sql, name: string): Promise<RegisteredSkill | null> {
  const { rows } = await sql.query<RegisteredSkill>(
    `SELECT ${SKILL} FROM skills s ${NEWEST} WHERE lower(s.name) = lower($1)`,
    [name],
  );
  return rows[0] ?? null;
}

/** Versions with a number below `below`, the newest first. */
export async function listVersions(
  sql: Sql,
  skillId: string,
  { below, limit }: { below: number | null; limit: number },
): Promise<PublishedVersion[]> {
  const { rows } = await sql.query<PublishedVersion>(
    `SELECT ${VERSION}, v.published_at AS "publishedAt" FROM skill_versions v
     WHERE v.skill_id = $1 AND v.number < COALESCE($2::int, 2147483647) ORDER BY v.number DESC LIMIT $3`,
    [skillId, below, limit],
  );
  return rows;
}
