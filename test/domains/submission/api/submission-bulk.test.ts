import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ALICE, BOB, type TestApi, VIEWER, type Who } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
});
afterAll(() => api.close());

interface Bulk {
  accepted: number;
  results: {
    index: number;
    result: string;
    submission: { id: string; statusUrl: string } | null;
    errors: { path: string }[] | null;
  }[];
}

function send(entries: unknown, as: Who = ALICE, key?: string) {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  return api.call({ method: 'POST', url: '/api/v1/submissions/bulk', as, payload: { entries }, headers });
}

async function sent(entries: object[], as?: Who, key?: string): Promise<Bulk> {
  const response = await send(entries, as, key);
  if (response.statusCode !== 200) throw new Error(response.body);
  return response.json<Bulk>();
}

function entryOf(repository: string, more: object = {}): object {
  return { repoUrl: `https://github.com/acme/${repository}`, skillName: 'tidy', ...more };
}

async function count(): Promise<number> {
  const { rows } = await api.database.pool.query<{ count: number }>('SELECT count(*)::int FROM submissions');
  return rows[0]?.count ?? 0;
}

describe('POST /api/v1/submissions/bulk', () => {
  it('gives each entry a result of its own, in the order they came in', async () => {
    const { accepted, results } = await sent([
      entryOf('zebra'),
      entryOf('one', { repoUrl: 'https://evil.example/a/b' }),
      entryOf('ant'),
      entryOf('zebra'),
      { repoUrl: 'https://github.com/acme/nameless' },
      entryOf('pinned', { ref: 'a'.repeat(40) }),
      entryOf('odd', { colour: 'red' }),
    ]);

    expect(accepted).toBe(2);
    expect(results.map(({ index, result }) => `${String(index)} ${result}`)).toEqual([
      '0 accepted',
      '1 refused',
      '2 accepted',
      '3 duplicate',
      '4 refused',
      '5 refused',
      '6 refused',
    ]);
    expect(results[3]?.submission?.id).toBe(results[0]?.submission?.id);
    expect(results.map(({ errors }) => errors?.[0]?.path)).toEqual([
      ...[undefined, 'repoUrl', undefined, undefined, 'skillName', 'ref', ''],
    ]);
    expect((await api.call({ url: results[0]?.submission?.statusUrl ?? '' })).statusCode).toBe(200);
    expect(
      (await api.call({ url: `/api/v1/submissions/${results[2]?.submission?.id ?? ''}`, as: ALICE })).json(),
    ).toMatchObject({
      ...{ owner: 'alice', state: 'RECEIVED' },
      queue: { position: expect.any(Number) as number, estimate: { seconds: null } },
    });
  });

  it('takes 200 and no more, and none is too few', async () => {
    const before = await count();
    const many = Array.from({ length: 201 }, (_, n) => entryOf(`many-${String(n)}`));
    expect((await send(many)).statusCode).toBe(400);
    expect((await send([])).statusCode).toBe(400);
    expect((await send('all of them')).statusCode).toBe(400);
    expect(await count()).toBe(before);
    expect((await sent(many.slice(1))).accepted).toBe(200);
    expect(await count()).toBe(before + 200);
  });

  it('gives the same answer under the same key, and keeps no status link beside it', async () => {
    const first = await sent([entryOf('keyed')], ALICE, 'bulk-1');
    expect(await sent([entryOf('keyed')], ALICE, 'bulk-1')).toEqual(first);
    expect(first.results[0]).toMatchObject({
      result: 'accepted',
      submission: { statusUrl: expect.stringMatching(/status/) as string },
    });
    expect((await send([entryOf('other')], ALICE, 'bulk-1')).statusCode).toBe(409);
    const { rows } = await api.database.pool.query<{ answer: unknown }>(
      `SELECT answer FROM idempotency_keys WHERE key = 'bulk-1'`,
    );
    expect(JSON.stringify(rows)).not.toContain('/status/');
  });

  it('has one submission of each skill, though two send the same ones at once in another order', async () => {
    const before = await count();
    const skills = Array.from({ length: 40 }, (_, n) => entryOf(`both-${String(n)}`));
    const [one, other] = await Promise.all([sent(skills, ALICE, 'there'), sent([...skills].reverse(), BOB, 'back')]);
    expect(one.accepted + other.accepted).toBe(40);
    expect(await count()).toBe(before + 40);
  });

  it('says of a skill that somebody else has submitted that it is on its way, and neither its id nor its link', async () => {
    const [own] = (await sent([entryOf('taken', { ref: 'next' })], BOB)).results;
    const { results } = await sent([entryOf('taken')]);
    expect(results).toMatchObject([{ result: 'duplicate', submission: { id: null, statusUrl: null, ref: 'next' } }]);
    expect(JSON.stringify(results)).not.toContain(own?.submission?.id);
  });

  it('submits none of them when one can’t be stored, though no key was sent', async () => {
    const { pool } = api.database;
    await pool.query(`ALTER TABLE submissions ADD CONSTRAINT unlucky CHECK (repo_url NOT LIKE '%/unlucky')`);
    onTestFinished(async () => {
      await pool.query('ALTER TABLE submissions DROP CONSTRAINT unlucky');
    });
    const before = await count();
    const response = await send([entryOf('lucky'), entryOf('unlucky')]);
    expect(response.statusCode).toBe(500);
    expect(await count()).toBe(before);
  });

  it('is for those who may submit', async () => {
    expect((await send([entryOf('x')], VIEWER)).statusCode).toBe(403);
  });
});
