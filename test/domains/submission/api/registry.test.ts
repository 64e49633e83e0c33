import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Certification } from '../../../../src/domains/submission/db/skills.js';
import { storeFacts, storeFailure } from '../../../../src/domains/submission/db/skill-facts.js';
import { fetched, publish, skillOf } from '../support/skills.js';
import type { TestApi } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

interface Page {
  skills: { name: string; version: string }[];
  nextCursor: string | null;
}

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
  for (const [name, body, description] of SKILLS) await published(name, body, { description });
  await published('tidy', '# Use\nSort.\n# More\nAsk first.', { description: 'Tidies a folder up' });
});
afterAll(() => api.close());

const SKILLS = [
  ['tidy', '# Use\nSort.', 'Tidies a folder up'],
  ['mailer', '# Use\nSend.', 'Sends 100% of letters_ by MAIL'],
  ['Calendar', '# Use\nPlan.', 'Plans a week <b>ahead</b>'],
  ['alpha.beta-1_2', '# Use\nCount.', 'Counts letters'],
] as const;

const VENDOR: Certification = { tier: 'vendor', method: 'vendor' };

async function published(
  skillName: string,
  body: string,
  { description = 'Tidies a folder up', as }: { description?: string; as?: Certification } = {},
): Promise<void> {
  const { pool } = api.database;
  await publish(pool, await fetched(pool, { skillName }, skillOf(body, description)), as);
}

async function pageOf(query: string): Promise<Page> {
  const response = await api.call({ url: `/api/v1/skills${query}` });
  expect(response.statusCode, response.body).toBe(200);
  return response.json<Page>();
}

async function allBy(query: string): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page: Page = await pageOf(`?limit=2&${query}${cursor && `&cursor=${cursor}`}`);
    names.push(...page.skills.map(({ name }) => name));
    cursor = page.nextCursor;
  }
  return names;
}

describe('the registry', () => {
  it('shows anybody what is published, with its newest version', async () => {
    const { skills } = await pageOf('?q=tidies');
    expect(skills).toEqual([
      {
        ...{ name: 'tidy', skillName: 'tidy', version: '1.1.0', description: 'Tidies a folder up' },
        ...{ tier: 'tier2', method: 'automatic', score: null, repoUrl: 'https://github.com/ada/skills' },
        contentHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        commit: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
        publishedAt: expect.stringMatching(/Z$/) as string,
        updatedAt: expect.stringMatching(/Z$/) as string,
        facts: null,
      },
    ]);
  });

  it('finds a skill by its name in any case, and says it as it is published', async () => {
    expect((await api.call({ url: '/api/v1/skills/TIDY' })).json()).toMatchObject({ name: 'tidy', version: '1.1.0' });
    expect((await api.call({ url: '/api/v1/skills/calendar/versions' })).json()).toMatchObject({ name: 'Calendar' });
  });

  it('shows facts from other services about a skill, and the last known facts where a later read failed', async () => {
    const { pool } = api.database;
    const { rows } = await pool.query<{ id: string }>(`SELECT id FROM skills WHERE name = 'mailer'`);
    const id = rows[0]?.id ?? '';
    const facts = async () => (await api.call({ url: '/api/v1/skills/mailer' })).json<{ facts: unknown }>().facts;
    await storeFailure(pool, id, 'it answered 500');
    expect(await facts()).toBeNull();
    await storeFacts(pool, id, { stars: 7, downloads: null, lastCommitAt: new Date('2026-11-01T10:00:00Z') });
    await storeFailure(pool, id, 'it answered 500');
    expect(await facts()).toEqual({
      ...{ stars: 7, downloads: null, lastCommitAt: '2026-11-01T10:00:00.000Z' },
      knownAt: expect.stringMatching(/Z$/) as string,
    });
  });

  it('gives every skill once over its pages, by name and the newest first', async () => {
    expect(await allBy('sort=name')).toEqual(['Calendar', 'alpha.beta-1_2', 'mailer', 'tidy']);
    expect(await allBy('sort=newest')).toEqual(['tidy', 'alpha.beta-1_2', 'Calendar', 'mailer']);
  });

  it('finds words of the name and the description in any case, and takes no sign for a pattern', async () => {
    expect(await allBy('q=LETTERS')).toEqual(['alpha.beta-1_2', 'mailer']);
    expect(await allBy(`q=${encodeURIComponent('100%')}`)).toEqual(['mailer']);
    expect(await allBy(`q=${encodeURIComponent('_b')}`)).toEqual([]);
    expect(await allBy(`q=${encodeURIComponent("'; DROP TABLE skills; --")}`)).toEqual([]);
  });

  it('finds what stands far behind, page by page, and looks at no more than so many skills for one', async () => {
    await api.database.pool.query(
      `WITH many AS (INSERT INTO skills (id, name, repo_url, skill_name)
         SELECT gen_random_uuid(), 'filler-' || lpad(n::text, 5, '0'), 'https://github.com/many/' || n, 'filler' FROM generate_series(1, 4500) n
         RETURNING id)
       INSERT INTO skill_versions (skill_id, number, version, content_hash, commit, description, tier, method, submission_id)
       SELECT id, 1, '1.0.0', '', '', 'Fills', 'tier2', 'automatic', gen_random_uuid() FROM many`,
    );
    const first = await pageOf('?q=tidies');
    expect(first.skills).toEqual([]);
    expect(first.nextCursor).not.toBeNull();
    expect(await allBy('q=tidies')).toEqual(['tidy']);
    await api.database.pool.query(`DELETE FROM skills WHERE skill_name = 'filler'`);
  });

  it.each([
    '?limit=0',
    '?limit=101',
    '?sort=stars',
    '?q=',
    `?q=${'x'.repeat(201)}`,
    '?q=%00',
    '?owner=ada',
    '?cursor=x',
    `?cursor=${Buffer.from('name:%zz abcdefabcdef').toString('base64url')}`,
  ])('refuses %s and names the field', async (query) => {
    const response = await api.call({ url: `/api/v1/skills${query}` });
    expect(response.statusCode).toBe(400);
    expect(response.json<{ errors: unknown[] }>().errors).toHaveLength(1);
  });

  it('takes a cursor only with the filters it was made for', async () => {
    const { nextCursor } = await pageOf('?limit=1&sort=newest');
    const response = await api.call({ url: `/api/v1/skills?limit=1&sort=name&cursor=${nextCursor ?? ''}` });
    expect(response.json()).toMatchObject({ status: 400, errors: [{ path: 'cursor' }] });
  });

  it('is limited for those who do not sign in', async () => {
    const limited = await openSubmissionApi({ limits: { rateLimitPerMinute: 2 } });
    const statuses: number[] = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await limited.call({ url: '/api/v1/skills' })).statusCode);
    await limited.close();
    expect(statuses).toEqual([200, 200, 429]);
  });
});

describe('one skill', () => {
  it('is shown by its name, and its versions with it, the newest first', async () => {
    expect((await api.call({ url: '/api/v1/skills/tidy' })).json()).toMatchObject({ name: 'tidy', version: '1.1.0' });
    const first = await api.call({ url: '/api/v1/skills/tidy/versions?limit=1' });
    const { nextCursor } = first.json<{ nextCursor: string }>();
    expect(first.json()).toMatchObject({ name: 'tidy', versions: [{ version: '1.1.0', tier: 'tier2' }] });
    const second = await api.call({ url: `/api/v1/skills/tidy/versions?limit=1&cursor=${nextCursor}` });
    expect(second.json()).toMatchObject({ versions: [{ version: '1.0.0' }], nextCursor: null });
    const other = await api.call({ url: `/api/v1/skills/mailer/versions?limit=1&cursor=${nextCursor}` });
    expect(other.statusCode).toBe(400);
  });

  it.each(['none', '%3Cscript%3E', '..%2f..%2fetc', 'tidy%20', '%F0%9F%92%A9', "tidy'--", 'x'.repeat(150)])(
    'is not found if nobody published it: %s',
    async (name) => {
      for (const path of ['', '/versions']) {
        const response = await api.call({ url: `/api/v1/skills/${name}${path}` });
        expect(response.statusCode).toBe(404);
        expect(response.body).not.toContain('script');
      }
    },
  );

  it('whose name cannot be read is refused', async () => {
    for (const name of ['%00', '%ff', 'x'.repeat(500)]) {
      expect((await api.call({ url: `/api/v1/skills/${name}` })).statusCode).toBe(400);
    }
  });
});

describe('a badge', () => {
  it('says version and certification, may stand on any page and may be kept', async () => {
    await published('ours', 'Ours.', { as: VENDOR });
    const response = await api.call({ url: '/api/v1/skills/ours/badge.svg' });
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'image/svg+xml; charset=utf-8',
      'cache-control': 'public, max-age=300',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
    });
    expect(response.body).toContain('v1.0.0 · vendor');
  });

  it('is not sent again to a caller that has it, until there is a new version', async () => {
    await published('kept', '# Use\nOne.');
    const url = '/api/v1/skills/kept/badge.svg';
    const etag = String((await api.call({ url })).headers.etag);
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await api.call({ url, headers: { 'if-none-match': tag } });
      expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag]);
    }
    expect((await api.call({ url, headers: { 'if-none-match': '"other"' } })).statusCode).toBe(200);
    await published('kept', '# Use\nOne.\n# Two\nMore.');
    const changed = await api.call({ url, headers: { 'if-none-match': etag } });
    expect(changed.statusCode).toBe(200);
    expect(changed.body).toContain('v1.1.0');
  });

  it.each(['none', '%3Cscript%3Ealert(1)%3C%2Fscript%3E', '%F0%9F%92%A9'])(
    'says unknown for a skill that nobody published: %s',
    async (name) => {
      const response = await api.call({ url: `/api/v1/skills/${name}/badge.svg` });
      expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'image/svg+xml; charset=utf-8']);
      expect(response.body).toContain('>unknown<');
      expect(response.body).not.toContain('script');
    },
  );
});
