import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStatusLinks } from '../../src/api/status-links.js';
import { itemOf } from '../support/facts.js';
import { submitted } from '../support/skills.js';
import { byHand, findIn, ROOT } from '../support/spine.js';
import { REJECTIONS, waysToEnd, type WayToEnd } from '../support/submission-ends.js';
import { pauseItem } from '../../src/db/control.js';
import { submission } from '../../src/pipelines/submission.js';
import { openApi, SECRET, type TestApi } from './setup.js';

const EMAIL = 'somebody-private@example.org';
const { statusUrlOf } = createStatusLinks({ secret: SECRET, publicUrl: undefined });

let api: TestApi;
let logged = '';
beforeAll(async () => {
  const logger = pino({ level: 'trace' }, { write: (line: string) => void (logged += line) });
  api = await openApi({ logger });
});
afterAll(() => api.close());

interface Status {
  id: string;
  state: string;
  why: { summary: string; reasons: { why: string; file: string | null; line: number | null; remedy: string }[] } | null;
  nextAction: string;
}

function urlOf(id: string): string {
  return statusUrlOf(id) ?? 'no link';
}

async function statusOf(id: string): Promise<Status> {
  const response = await api.call({ url: urlOf(id) });
  expect(response.statusCode, response.body).toBe(200);
  expect(response.headers['cache-control']).toBe('no-store');
  return response.json<Status>();
}

async function endedBy(way: WayToEnd): Promise<string> {
  const id = await submitted(api.database.pool, { email: EMAIL, skillName: way });
  await waysToEnd(api.database.pool)[way](id);
  return id;
}

describe('the status link of a submission', () => {
  it.each(REJECTIONS)('tells why, and what to do about it, and nothing that is nobody’s business: %s', async (way) => {
    const id = await endedBy(way);
    const status = await statusOf(id);

    expect(Object.keys(status)).toEqual(['id', 'state', 'why', 'nextAction']);
    expect(status).toMatchObject({ id, state: (await itemOf(api.database.pool, id)).state });
    for (const { why, remedy } of status.why?.reasons ?? []) expect([why, remedy]).not.toContain('');
    expect(status.why?.reasons.length).toBeGreaterThan(0);
    expect(status.nextAction).toMatch(/[Ss]ubmit the skill again/);
    const told = JSON.stringify(status);
    for (const secret of [EMAIL, 'ada', 'root', 'worker-a', 'worker-1', 'victim', '10.1.2.3']) {
      expect(told).not.toContain(secret);
    }
  });

  it.each<[WayToEnd, object]>([
    ['tier1-fail', { file: 'scripts/set-up.sh', line: 7, remedy: 'Ship the script with the skill.' }],
    ['tier2-fail', { why: 'It reads every key.', file: 'SKILL.md', line: 12 }],
    ['fetch-failed', { why: 'ref names no branch', field: 'ref', remedy: 'Leave it out.' }],
    ['review-reject', { why: 'It deletes the home folder.' }],
    ['admin-reject', { why: 'It deletes the home folder.' }],
    ['cancelled', { why: 'asked for by mistake' }],
  ])('says where: %s', async (way, reason) => {
    expect((await statusOf(await endedBy(way))).why?.reasons).toMatchObject([reason]);
  });

  it('says what is published, and as what', async () => {
    const id = await endedBy('published');
    expect(await statusOf(id)).toEqual({
      ...{ id, state: 'PUBLISHED', why: null },
      nextAction: 'It is published as published 1.0.0.',
    });
  });

  it('says of one under way what comes next', async () => {
    const { pool } = api.database;
    const id = await submitted(pool, { skillName: 'under-way' });
    const hand = byHand(pool, submission);
    const seen = [await statusOf(id)];
    for (const stage of ['checkVendor:other', 'fetch', 'scanTier1:pass', 'judgeTier2:concerns']) {
      await hand.walk(id, stage);
      seen.push(await statusOf(id));
    }
    await pauseItem(pool, findIn(submission), { itemId: id, actor: ROOT, until: 'infinity', reason: 'ask bob' });
    seen.push(await statusOf(id));
    expect(seen.map(({ state, why }) => [state, why])).toEqual(
      ['RECEIVED', 'TIER1_SCANNING', 'TIER1_SCANNING', 'TIER2_SCANNING', 'NEEDS_REVIEW', 'NEEDS_REVIEW'].map((s) => [
        s,
        null,
      ]),
    );
    expect(seen.at(-2)?.nextAction).toMatch(/^A person looks at it next/);
    expect(seen.at(-1)?.nextAction).toBe(
      'It was paused by an operator and goes on afterwards; there is nothing to do.',
    );
  });

  it('opens nothing but itself: any other token leads nowhere, and all of them to the same answer', async () => {
    const token =
      urlOf(await endedBy('cancelled'))
        .split('/')
        .at(-1) ?? '';
    const others = createStatusLinks({ secret: `${SECRET}!`, publicUrl: undefined });
    const canary = await byHand(api.database.pool, submission).make();
    const forged = [
      ...[
        token.slice(0, -1),
        token.slice(1),
        `${token}A`,
        token.toLowerCase(),
        'A'.repeat(64),
        'x',
        '%00',
        '..%2f',
        'caf%C3%A9',
      ],
      `${token.slice(0, 10)}${token[10] === 'A' ? 'B' : 'A'}${token.slice(11)}`,
      others.statusUrlOf(canary)?.split('/').at(-1) ?? '',
      // Signed by us, of an item that is no submission.
      urlOf(canary).split('/').at(-1) ?? '',
    ];
    for (const each of forged) {
      const response = await api.call({ url: `/api/v1/status/${each}` });
      expect(response.json(), each).toEqual({
        ...{ type: 'urn:unstuck:problem:not_found', title: 'There is no such thing', status: 404, code: 'not_found' },
        ...{ detail: 'this link leads to no submission', requestId: expect.any(String) as string },
      });
    }
    expect((await api.call({ url: `/api/v1/status/${'A'.repeat(5_000)}` })).statusCode).toBe(400);
    expect((await api.call({ method: 'POST', url: `/api/v1/status/${token}` })).statusCode).toBe(405);
  });

  it('stays out of the log, good and bad ones, whatever is logged', async () => {
    const id = await endedBy('cancelled');
    await statusOf(id);
    const token = urlOf(id).split('/').at(-1) ?? '';
    await api.call({ url: `/api/v1/status/${token}x` });
    await api.call({ method: 'POST', url: `/api/v1/status/${token}` });
    await api.call({ url: `/api/v1/status/${token}/more` });
    expect(logged).toContain('/api/v1/status/:token');
    expect(logged).not.toContain(token.slice(22));
    expect(logged).not.toContain(token.slice(0, 21));
  });
});

describe('where nothing can sign links', () => {
  it('there are none', () => {
    const links = createStatusLinks({ secret: undefined, publicUrl: 'https://unstuck.example.com' });
    expect(links.statusUrlOf('01934f6c-0000-7000-8000-000000000001')).toBeNull();
    expect(links.itemIn('A'.repeat(64))).toBeNull();
  });

  it('and where the public address is known they begin with it', () => {
    const links = createStatusLinks({ secret: SECRET, publicUrl: 'https://unstuck.example.com/' });
    expect(links.statusUrlOf('01934f6c-0000-7000-8000-000000000001')).toMatch(
      /^https:\/\/unstuck\.example\.com\/api\/v1\/status\/[\w-]{64}$/,
    );
  });
});
