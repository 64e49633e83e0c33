import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeSubmission } from '../support/submissions.js';
import { ADMIN, ALICE, BOB, type TestApi, type Who } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

const MAX = 3;

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi({ environment: { SUBMISSION_MAX_LIVE_PER_OWNER: String(MAX) } });
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('TRUNCATE items CASCADE');
});

function entryOf(repository: string) {
  return { repoUrl: `https://github.com/acme/${repository}`, skillName: 'tidy' };
}

function send(as: Who, repository: string) {
  return api.call({ method: 'POST', url: '/api/v1/submissions', as, payload: entryOf(repository) });
}

function sendAll(as: Who, repositories: readonly string[], key?: string) {
  const payload = { entries: repositories.map(entryOf) };
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  return api.call({ method: 'POST', url: '/api/v1/submissions/bulk', as, payload, headers });
}

async function fill(as: Who): Promise<void> {
  for (let n = 0; n < MAX; n += 1) expect((await send(as, `${as.sub}-${String(n)}`)).statusCode).toBe(202);
}

async function liveOf(owner: string): Promise<number> {
  const { rows } = await api.database.pool.query<{ count: number }>(
    'SELECT count(*)::int FROM items WHERE owner = $1 AND ended_at IS NULL',
    [owner],
  );
  return rows[0]?.count ?? 0;
}

describe('a caller who has as many submissions on their way as are allowed', () => {
  it('is refused another with what to do, and is taken again when one has ended', async () => {
    await fill(ALICE);
    const refused = await send(ALICE, 'one-more');
    expect(refused.statusCode).toBe(429);
    expect(refused.json()).toMatchObject({
      ...{ code: 'too_many_live', maxLive: MAX },
      detail: expect.stringMatching(/3 of yours are on their way; .* or cancel some/) as string,
    });
    expect((await send(BOB, 'bobs')).statusCode).toBe(202);
    await api.database.pool.query(
      `UPDATE items SET ended_at = now() WHERE id = (SELECT id FROM items WHERE owner = 'alice' LIMIT 1)`,
    );
    expect((await send(ALICE, 'one-more')).statusCode).toBe(202);
  });

  it('is answered what is on its way already', async () => {
    await fill(ALICE);
    expect((await send(ALICE, 'alice-1')).json()).toMatchObject({ duplicate: true });
  });

  it('is not limited by what is not a submission, nor as an admin', async () => {
    await fill(ADMIN);
    expect((await send(ADMIN, 'one-more')).statusCode).toBe(202);
    await makeSubmission(api.database.pool, { owner: 'alice' });
    await api.database.pool.query(`UPDATE items SET pipeline = 'canary' WHERE owner = 'alice'`);
    await fill(ALICE);
  });
});

describe('a bulk of more than there is room for', () => {
  it('is taken as far as there is, each entry with its own result', async () => {
    await send(ALICE, 'a');
    const { accepted, results } = (await sendAll(ALICE, ['a', 'b', 'c', 'd', 'e'])).json<{
      accepted: number;
      results: { result: string; errors: { message: string }[] | null }[];
    }>();
    expect(accepted).toBe(2);
    expect(results.map(({ result }) => result)).toEqual(['duplicate', 'accepted', 'accepted', 'refused', 'refused']);
    expect(results[4]?.errors?.[0]?.message).toContain('one too many');
    expect(await liveOf('alice')).toBe(MAX);
  });

  it('brings no more than there is room for, though several are sent at once', async () => {
    const bulks = ['p', 'q', 'r', 's'].map((set) => [1, 2, 3].map((n) => `${set}${String(n)}`));
    await Promise.all(bulks.map((bulk, at) => sendAll(ALICE, bulk, at % 2 === 0 ? `bulk-${String(at)}` : undefined)));
    expect(await liveOf('alice')).toBe(MAX);
  });
});
