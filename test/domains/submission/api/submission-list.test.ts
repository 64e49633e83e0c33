import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeSubmission } from '../support/submissions.js';
import { ADMIN, ALICE, BOB, type TestApi, VIEWER, type Who } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

let api: TestApi;
const ids: string[] = [];
beforeAll(async () => {
  api = await openSubmissionApi();
  const { pool } = api.database;
  for (let n = 0; n < 9; n += 1) {
    const [owner, name] = [n % 3 === 0 ? 'bob' : 'alice', n % 2 === 0 ? 'pdf-reader' : 'web_search'];
    const ended = n < 4 ? { state: 'PUBLISHED', endedAgo: 1 } : { state: 'TIER1_SCANNING' };
    ids.push(await makeSubmission(pool, { owner, name, ...ended }));
  }
  // An item of another pipeline is no submission, whoever's it is.
  await pool.query(
    `INSERT INTO items (id, pipeline, owner, state) VALUES (gen_random_uuid(), 'canary', 'alice', 'FIRST')`,
  );
});
afterAll(() => api.close());

interface Page {
  submissions: { id: string; owner: string; state: string; skillName: string }[];
  nextCursor: string | null;
}

async function page(query: string, as: Who = VIEWER): Promise<Page> {
  const response = await api.call({ url: `/api/v1/submissions?${query}`, as });
  expect(response.statusCode).toBe(200);
  return response.json<Page>();
}

/** All pages one after the other. */
async function walked(query: string, as?: Who): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const { submissions, nextCursor } = await page(`${query}&limit=2${cursor ? `&cursor=${cursor}` : ''}`, as);
    seen.push(...submissions.map(({ id }) => id));
    cursor = nextCursor;
  } while (cursor !== null && seen.length < 100);
  return seen;
}

describe('GET /api/v1/submissions', () => {
  it('shows an operator all, page by page, each once, from either end', async () => {
    expect(await walked('')).toEqual([...ids].reverse());
    expect(await walked('sort=oldest')).toEqual(ids);
  });

  it('shows a user their own alone, whatever is asked for', async () => {
    const own = ids.filter((_, n) => n % 3 !== 0);
    expect(await walked('sort=oldest', ALICE)).toEqual(own);
    expect(await walked('owner=bob', ALICE)).toEqual([]);
    expect(await walked('owner=bob&sort=oldest', BOB)).toEqual(ids.filter((_, n) => n % 3 === 0));
  });

  it('refuses a state that there is not, and names those there are', async () => {
    const refused = await api.call({ url: '/api/v1/submissions?state=FOO', as: ALICE });
    expect(refused.statusCode).toBe(400);
    expect(refused.json()).toMatchObject({
      code: 'invalid_input',
      detail: expect.stringMatching(/^state must be one of RECEIVED, .*PUBLISHED/) as string,
      errors: [{ path: 'state' }],
    });
  });

  it('takes states, owners and parts of a name or an address', async () => {
    expect((await page('state=PUBLISHED')).submissions).toHaveLength(4);
    expect(await walked('state=PUBLISHED&owner=bob&sort=oldest', ADMIN)).toEqual([ids[0], ids[3]]);
    expect(await walked('q=PDF&sort=oldest')).toEqual(ids.filter((_, n) => n % 2 === 0));
    expect(await walked('q=github.com/bob/')).toHaveLength(3);
    // Signs that mean something to the database mean themselves.
    expect(await walked('q=web_s')).toHaveLength(4);
    expect(await walked('q=pdf_')).toEqual([]);
    expect(await walked('q=%25')).toEqual([]);
  });

  it('knows a cursor of another list from its own', async () => {
    const { nextCursor } = await page('limit=2');
    const response = await api.call({
      url: `/api/v1/submissions?sort=oldest&cursor=${String(nextCursor)}`,
      as: VIEWER,
    });
    expect(response.statusCode).toBe(400);
  });

  it('is for those who are signed in', async () => {
    expect((await api.call({ url: '/api/v1/submissions' })).statusCode).toBe(401);
  });
});
