import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN, ALICE, BOB, REVIEWER, type TestApi, VIEWER, type Who } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
});
afterAll(() => api.close());

const COMMIT = 'a'.repeat(40);

function send(as: Who, payload: object, key?: string) {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  return api.call({ method: 'POST', url: '/api/v1/submissions', as, payload, headers });
}

async function accepted(as: Who, repository: string, more: object = {}) {
  const repoUrl = `https://github.com/acme/${repository}`;
  const response = await send(as, { repoUrl, skillName: 'tidy', ...more });
  if (response.statusCode !== 202) throw new Error(response.body);
  return response.json<{ id: string }>();
}

function shown(as: Who, id: string) {
  return api.call({ url: `/api/v1/submissions/${id}`, as });
}

describe('submitting a skill', () => {
  it('commits the item, its row and the first audit entry, and then starts the run', async () => {
    const response = await send(ALICE, {
      repoUrl: 'https://github.com/Acme/Tools.git',
      skillName: 'Tidy',
      ref: 'main',
    });

    expect(response.statusCode).toBe(202);
    const { id } = response.json<{ id: string }>();
    expect(response.json()).toEqual({
      id,
      state: 'RECEIVED',
      isVendor: false,
      createdAt: expect.any(String) as string,
      statusUrl: expect.stringMatching(/^\/api\/v1\/status\//) as string,
      verdictMail: 'no_address',
    });
    const { statusUrl } = response.json<{ statusUrl: string }>();
    expect((await api.call({ url: statusUrl })).json()).toMatchObject({ id, state: 'RECEIVED' });
    expect(api.engine.started).toContainEqual(
      expect.objectContaining({ pipeline: 'submission', itemId: id, epoch: 1 }),
    );
    expect((await shown(ALICE, id)).json()).toMatchObject({
      ...{ id, owner: 'alice', state: 'RECEIVED', live: true, isVendor: false, commit: null, published: null },
      ...{ repoUrl: 'https://github.com/acme/tools', skillName: 'Tidy', skillPath: null, ref: 'main' },
      ...{ scan: null, judgement: null, stageTimings: [], inflight: [], staleness: null },
      history: [{ fromState: null, toState: 'RECEIVED', trigger: 'api-submission', actor: 'system' }],
    });
  });

  it('says when the repository is one whose skills are taken on trust', async () => {
    const response = await send(ALICE, { repoUrl: 'https://github.com/OpenAI/skills', skillName: 'tidy' });
    expect(response.json()).toMatchObject({ state: 'RECEIVED', isVendor: true });
  });

  it.each([
    ['repoUrl', { repoUrl: 'https://gitlab.com/acme/tools', skillName: 'tidy' }],
    ['repoUrl', { repoUrl: 'http://github.com/acme/tools', skillName: 'tidy' }],
    ['repoUrl', { repoUrl: '/home/somebody/tools', skillName: 'tidy' }],
    ['repoUrl', { repoUrl: 'not a url', skillName: 'tidy' }],
    ['repoUrl', { skillName: 'tidy' }],
    ['skillName', { repoUrl: 'https://github.com/acme/tools' }],
    ['skillName', { repoUrl: 'https://github.com/acme/tools', skillName: 'no spaces' }],
    ['skillPath', { repoUrl: 'https://github.com/acme/tools', skillName: 'tidy', skillPath: '../other' }],
    ['ref', { repoUrl: 'https://github.com/acme/tools', skillName: 'tidy', ref: COMMIT }],
    ['email', { repoUrl: 'https://github.com/acme/tools', skillName: 'tidy', email: 'a@b.c, d@e.f' }],
  ])('is refused with the field named: %s of %j', async (path, payload) => {
    const response = await send(ALICE, payload);
    expect(response.statusCode).toBe(400);
    expect(response.json()).toMatchObject({ code: 'invalid_input', errors: [{ path }] });
  });

  it('is said to be followed by mail only where mail is sent, and to the first submitter', async () => {
    const payload = { repoUrl: 'https://github.com/acme/mailed', skillName: 'tidy' };
    const alice = { ...ALICE, email: 'alice@example.org' };
    expect((await send(alice, payload)).json()).toMatchObject({ verdictMail: 'not_configured' });
    expect((await send(BOB, payload)).json()).toMatchObject({ duplicate: true, verdictMail: 'not_taken' });
    const mailing = await openSubmissionApi({ sendsMail: true });
    const response = await mailing.call({ method: 'POST', url: '/api/v1/submissions', as: alice, payload });
    await mailing.close();
    expect(response.json()).toMatchObject({ verdictMail: 'will_be_sent' });
  });

  const OWN = 'alice@example.org';
  const OTHER = 'eve@example.org';
  interface Mailed {
    as: Who;
    names?: string;
    stored: string | null;
    verdictMail: string;
  }
  it.each<[string, Mailed]>([
    ['goes to the address in the token', { as: { ...ALICE, email: OWN }, stored: OWN, verdictMail: 'not_configured' }],
    [
      'goes to that address spelled with capitals',
      {
        as: { ...ALICE, email: OWN },
        names: 'Alice@example.org',
        stored: 'Alice@example.org',
        verdictMail: 'not_configured',
      },
    ],
    [
      'goes to no other address',
      { as: { ...ALICE, email: OWN }, names: OTHER, stored: null, verdictMail: 'not_your_address' },
    ],
    [
      'goes to no address that a token without one names',
      { as: ALICE, names: OTHER, stored: null, verdictMail: 'not_your_address' },
    ],
    ['goes nowhere for a token without an address', { as: ALICE, stored: null, verdictMail: 'no_address' }],
    [
      'goes to no two addresses in a token',
      { as: { ...ALICE, email: `${OWN}, ${OTHER}` }, stored: null, verdictMail: 'no_address' },
    ],
    [
      'goes to no other address from a reviewer',
      { as: { ...REVIEWER, email: OWN }, names: OTHER, stored: null, verdictMail: 'not_your_address' },
    ],
    [
      'goes to any address that an admin names',
      { as: { ...ADMIN, email: OWN }, names: OTHER, stored: OTHER, verdictMail: 'not_configured' },
    ],
  ])('accepts a submission whose verdict %s', async (name, { as, names: email, stored, verdictMail }) => {
    const repository = name.replaceAll(' ', '-');
    const answer = await accepted(as, repository, { ...(email !== undefined && { email }) });
    const url = '/api/v1/submissions/bulk';
    const entries = [{ repoUrl: `https://github.com/acme/${repository}-bulk`, skillName: 'tidy', email }];
    const bulk = (await api.call({ method: 'POST', url, as, payload: { entries } })).json<object>();

    expect(answer).toMatchObject({ verdictMail });
    expect(bulk).toMatchObject({ results: [{ result: 'accepted', submission: { verdictMail } }] });
    const { rows } = await api.database.pool.query<{ email: string | null }>(
      `SELECT email FROM submissions WHERE repo_url LIKE '%/' || $1 || '%'`,
      [repository],
    );
    expect(rows).toEqual([{ email: stored }, { email: stored }]);
  });

  it('needs somebody who is signed in and may write', async () => {
    const payload = { repoUrl: 'https://github.com/acme/closed', skillName: 'tidy' };
    expect((await api.call({ method: 'POST', url: '/api/v1/submissions', payload })).statusCode).toBe(401);
    expect((await send(VIEWER, payload)).statusCode).toBe(403);
  });
});

describe('a skill that is on its way', () => {
  it('is answered again, however its address is spelled, and is a new item once the first has ended', async () => {
    const { id } = await accepted(ALICE, 'twice');
    const again = { repoUrl: 'https://github.com/ACME/twice.git', skillName: 'TIDY' };
    const before = api.engine.started.length;

    const second = await send(ALICE, again);

    expect(second.statusCode).toBe(200);
    expect(second.json()).toMatchObject({ id, duplicate: true });
    expect(api.engine.started).toHaveLength(before);
    await api.call({ method: 'POST', url: `/api/v1/items/${id}/cancel`, as: ALICE, payload: {} });
    const third = await send(ALICE, again);
    expect(third.statusCode).toBe(202);
    expect(third.json<{ id: string }>().id).not.toBe(id);
  });

  it('is no duplicate of another skill of the same repository', async () => {
    await accepted(ALICE, 'several');
    await accepted(ALICE, 'several', { skillName: 'sort' });
  });

  it("is answered without id and link, and with the next step, if it is somebody else's", async () => {
    const { id } = await accepted(ALICE, 'foreign', { ref: 'next' });
    const payload = { repoUrl: 'https://github.com/acme/foreign', skillName: 'tidy' };

    for (const response of [
      await send(BOB, payload),
      await send(BOB, payload, 'bob-1'),
      await send(BOB, payload, 'bob-1'),
    ]) {
      expect(response.statusCode).toBe(200);
      expect(response.body).not.toContain(id);
      expect(response.json()).toMatchObject({
        ...{ id: null, statusUrl: null, duplicate: true, state: 'RECEIVED', ref: 'next', skillPath: null },
        nextAction: expect.stringMatching(
          /GET \/api\/v1\/skills\?q=tidy; submit again when it has ended.*another ref/,
        ) as string,
      });
    }
    expect((await shown(BOB, id)).statusCode).toBe(404);
  });

  it('is answered whole to whoever submitted it, and to those who see every submission', async () => {
    const { id } = await accepted(ALICE, 'own', { skillPath: 'skills/tidy' });
    const payload = { repoUrl: 'https://github.com/acme/own', skillName: 'tidy', skillPath: 'skills/tidy' };
    for (const who of [ALICE, ADMIN]) {
      const answer = (await send(who, payload)).json<{ statusUrl: string; nextAction: string }>();
      expect(answer).toMatchObject({ id, duplicate: true, ref: null, skillPath: 'skills/tidy' });
      expect(answer.nextAction).toBe(
        `It is on its way as ${id} (POST /api/v1/items/${id}/cancel cancels it); submit again when it has ended, if it is not what you want.`,
      );
      expect((await api.call({ url: answer.statusUrl })).statusCode).toBe(200);
    }
  });

  it('is one item, however many submit it at once', async () => {
    const payload = { repoUrl: 'https://github.com/acme/at-once', skillName: 'tidy' };
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(ALICE, payload)));
    expect(new Set(answers.map((answer) => answer.json<{ id: string }>().id)).size).toBe(1);
    expect(answers.filter(({ statusCode }) => statusCode === 202)).toHaveLength(1);
  });

  it('gets the same answer under the same key, and 409 with another body', async () => {
    const payload = { repoUrl: 'https://github.com/acme/keyed', skillName: 'tidy' };
    const first = await send(ALICE, payload, 'key-1');
    const second = await send(ALICE, payload, 'key-1');
    expect([second.statusCode, second.json()]).toEqual([202, first.json()]);
    const { rows } = await api.database.pool.query<{ kept: string }>(
      `SELECT answer::text AS kept FROM idempotency_keys WHERE key = 'key-1'`,
    );
    expect(rows[0]?.kept).toContain(first.json<{ id: string }>().id);
    expect(rows[0]?.kept).not.toContain('/status/');
    expect((await send(ALICE, { ...payload, skillName: 'sort' }, 'key-1')).statusCode).toBe(409);
  });
});

describe('a commit that the skill was published from', () => {
  it('is already verified; another one, or another folder, is not', async () => {
    const { id } = await accepted(ALICE, 'published');
    await api.database.pool.query('UPDATE submissions SET commit = $2 WHERE id = $1', [id, COMMIT]);
    const asked = { repoUrl: 'https://github.com/acme/published', skillName: 'tidy', ref: COMMIT };
    expect((await send(ALICE, asked)).statusCode).toBe(400);
    await api.database.pool.query(`UPDATE items SET state = 'PUBLISHED', ended_at = now() WHERE id = $1`, [id]);

    const response = await send(ALICE, asked);

    expect(response.statusCode).toBe(200);
    expect(response.json()).toMatchObject({ id, state: 'PUBLISHED', alreadyVerified: true });
    const others = (await send(BOB, asked)).json<object>();
    expect(others).toMatchObject({ id: null, statusUrl: null, state: 'PUBLISHED', alreadyVerified: true });
    expect((await send(ALICE, { ...asked, ref: 'b'.repeat(40) })).statusCode).toBe(400);
    expect((await send(ALICE, { ...asked, skillPath: 'elsewhere' })).statusCode).toBe(400);
  });
});

describe('a submission', () => {
  it('shows nothing of an item of another pipeline', async () => {
    const canary = await api.call({ method: 'POST', url: '/api/v1/canaries', as: ADMIN, payload: {} });
    expect((await shown(ADMIN, canary.json<{ id: string }>().id)).statusCode).toBe(404);
  });
});
