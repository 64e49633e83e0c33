import { createHash } from 'node:crypto';
import { z } from 'zod';
import { badgeOf, svgOf } from '../core/version/badge.js';
import { AppError } from '../../../core/errors.js';
import {
  findRegisteredSkill,
  listSkills,
  listVersions,
  type SkillCursor,
  type RegisteredSkill,
} from '../db/registry.js';
import type { ApiDeps, App } from '../../../api/parts.js';
import { cursorOf, positionIn } from '../../../api/http/cursor.js';
import { openProblems } from '../../../api/http/problem.js';
import { textUpTo } from '../../../api/http/text-up-to.js';

const TAGS = ['skills'];

/** Anybody may read published skills. */
const config = { access: 'open' } as const;

/** A badge stands on pages that many look at; a new version is seen there after five minutes at the latest. */
const BADGE_CACHE = 'public, max-age=300';

const Time = z.iso.datetime();

const Paging = z.strictObject({
  cursor: z.string().max(2_000).optional().describe('`nextCursor` of the page before'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

const Query = Paging.extend({
  q: textUpTo(200).optional().describe('A part of the name or the description, in any case'),
  sort: z.enum(['name', 'newest']).default('name').describe('newest: the last published version first'),
});

const NextCursor = z.string().nullable();

const Name = z.object({ name: textUpTo(200) });

const Version = z.object({
  version: z.string(),
  description: z.string().describe('As its author wrote it'),
  commit: z.string(),
  contentHash: z.string().describe('SHA-256 over its files'),
  tier: z.string().describe('vendor, tier2 or tier3: how thoroughly it was examined'),
  method: z.string().describe('vendor, automatic or review: who certified it'),
  score: z.int().nullable().describe('The judge’s score of 100; null: the judge was not asked'),
  publishedAt: Time,
});

const Skill = Version.omit({ publishedAt: true })
  .extend({
    name: z.string(),
    repoUrl: z.string(),
    skillName: z
      .string()
      .describe('The name as submitted. `name` has the owner appended where another skill had the name.'),
    publishedAt: Time.describe('Its first version'),
    updatedAt: Time.describe('Its newest version'),
    facts: z
      .object({
        stars: z.int().nullable(),
        downloads: z.int().nullable().describe('Of its packages, in the last month'),
        lastCommitAt: Time.nullable(),
        knownAt: Time.describe('When these facts were read'),
      })
      .nullable()
      .describe('Facts from other services, where enrichment is on; an unknown fact is null'),
  })
  .meta({ id: 'Skill', description: 'A published skill, with its newest version' });

type Deps = Pick<ApiDeps, 'pool'>;

export function addRegistryRoutes(app: App, { pool }: Deps): void {
  app.get(
    '/api/v1/skills',
    {
      config,
      schema: {
        tags: TAGS,
        summary: 'Published skills',
        querystring: Query,
        response: {
          200: z.object({
            skills: z.array(Skill),
            nextCursor: NextCursor.describe('With `q`, a page may be short, or empty, and yet have one'),
          }),
          ...openProblems(),
        },
      },
    },
    async ({ query }) => {
      const { cursor, limit, ...filter } = query;
      const after = placeIn(positionIn(cursor, filter, (position) => isPlaceOf(filter.sort, position)));
      const { skills, next } = await listSkills(pool, { ...filter, after, limit });
      return { skills: skills.map(skillAnswer), nextCursor: next && cursorOf(positionOf(next), filter) };
    },
  );

  app.get(
    '/api/v1/skills/:name',
    {
      config,
      schema: {
        tags: TAGS,
        summary: 'A published skill and its newest version',
        description: 'Its name is taken in any case.',
        params: Name,
        response: { 200: Skill, ...openProblems(404) },
      },
    },
    async ({ params }) => skillAnswer(await existing(params.name)),
  );

  app.get(
    '/api/v1/skills/:name/versions',
    {
      config,
      schema: {
        tags: TAGS,
        summary: 'The versions of a skill, the newest first',
        params: Name,
        querystring: Paging,
        response: {
          200: z.object({ name: z.string(), versions: z.array(Version), nextCursor: NextCursor }),
          ...openProblems(404),
        },
      },
    },
    async ({ params: { name }, query: { cursor, limit } }) => {
      const position = positionIn(cursor, { name }, (text) => /^\d{1,9}$/.test(text));
      const { id, name: published } = await existing(name);
      const found = await listVersions(pool, id, {
        below: position === null ? null : Number(position),
        limit: limit + 1,
      });
      const shown = found.slice(0, limit);
      const last = shown.at(-1);
      return {
        name: published,
        versions: shown.map((each) => ({ ...each, publishedAt: each.publishedAt.toISOString() })),
        nextCursor: last && found.length > limit ? cursorOf(String(last.number), { name }) : null,
      };
    },
  );

  app.get(
    '/api/v1/skills/:name/badge.svg',
    {
      config,
      schema: {
        tags: TAGS,
        summary: 'A picture that says version and certification; of a skill that is not published, that it is unknown',
        params: Name,
        response: {
          200: { description: 'The badge', content: { 'image/svg+xml': { schema: z.string() } } },
          304: z.null().optional().describe('The badge is still the one that `If-None-Match` names'),
          ...openProblems(),
        },
      },
    },
    async ({ params, headers }, reply) => {
      const svg = svgOf(badgeOf(await findRegisteredSkill(pool, params.name)));
      const etag = `"${createHash('sha256').update(svg).digest('base64url').slice(0, 27)}"`;
      void reply
        .header('ETag', etag)
        .header('Cache-Control', BADGE_CACHE)
        // The badge may be shown on the pages of other sites, which our other answers may not.
        .header('Cross-Origin-Resource-Policy', 'cross-origin');
      if (isNamed(headers['if-none-match'], etag)) return reply.code(304).send(undefined);
      return reply.type('image/svg+xml; charset=utf-8').send(svg);
    },
  );

  async function existing(name: string): Promise<RegisteredSkill> {
    const skill = await findRegisteredSkill(pool, name);
    if (!skill) throw new AppError('not_found', 'no skill of this name is published');
    return skill;
  }
}

function skillAnswer({ publishedAt, updatedAt, facts, ...skill }: RegisteredSkill): z.output<typeof Skill> {
  return {
    ...skill,
    publishedAt: publishedAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    facts: facts && {
      ...facts,
      lastCommitAt: facts.lastCommitAt && new Date(facts.lastCommitAt).toISOString(),
      knownAt: new Date(facts.knownAt).toISOString(),
    },
  };
}

/** The weak form of a tag, which a proxy may have made of it, names the same picture. */
function isNamed(ifNoneMatch: string | undefined, etag: string): boolean {
  const named = (ifNoneMatch ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  return named.includes(etag) || named.includes('*');
}

/** A name may hold anything; a position holds no blanks. */
function positionOf(place: SkillCursor): string {
  return 'name' in place ? `name:${encodeURIComponent(place.name)}` : `${place.updatedAt.getTime()}:${place.id}`;
}

function isPlaceOf(sort: 'name' | 'newest', position: string): boolean {
  const place = placeIn(position);
  return place !== null && 'name' in place === (sort === 'name');
}

function placeIn(position: string | null): SkillCursor | null {
  const [, name, ms, id] =
    /^(?:name:([\w.!~*'()%-]+)|(\d{1,15}):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))$/.exec(position ?? '') ?? [];
  if (ms !== undefined && id !== undefined) return { updatedAt: new Date(Number(ms)), id };
  if (name === undefined) return null;
  try {
    return { name: decodeURIComponent(name) };
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}
