import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createStatusLinks } from '../../../../src/api/items/status-links.js';
import { STATUS_LINKS } from '../../../../src/domains/submission/api/status-links.js';
import { itemOf } from '../../../support/facts.js';
import { submitted } from '../support/skills.js';
import { makeSubmission } from '../support/submissions.js';
import { byHand, findIn, ROOT } from '../../../support/spine.js';
import { REJECTIONS, waysToEnd, type WayToEnd } from '../support/submission-ends.js';
import { until } from '../../../support/until.js';
import { pauseItem } from '../../../../src/db/spine/control.js';
import { submission } from '../../../../src/domains/submission/table.js';
import { SECRET, type TestApi } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

const EMAIL = 'somebody-private@example.org';
const { statusUrlOf } = createStatusLinks({ secret: SECRET, publicUrl: undefined }, STATUS_LINKS);

let api: TestApi;
let logged = '';
beforeAll(async () => {
  const logger = pino({ level: 'trace' }, { write: (line: string) => void (logged += line) });
  api = await openSubmissionApi({ logger });
});
afterAll(() => api.close());

interface Status {
  id: string;
  skillName: string;
  state: string;
  submittedAt: string;
  movedAt: string;
  why: { summary: string; reasons: { why: string; file: string | null; line: number | null; remedy: string }[] } | null;
  staleness: { stale: boolean; since: string; staleAt: string } | null;
  nextAction: string;
}

const SHOWN = ['id', 'skillName', 'state', 'submittedAt', 'movedAt', 'why', 'staleness', 'nextAction'];

function urlOf(id: string): string {
  return statusUrlOf(id) ?? 'no link';
}

async function statusOf(id: string): Promise<Status> {
  const response = await api.call({ url: urlOf(id) });
  expect(response.statusCode, response.body).toBe(200);
  expect(response.headers['cache-control']).toBe('no-store');
  return response.json<Status>();
}

async function rowOf(id: string): Promise<{ beat_at: Date }> {
  const { rows } = await api.database.pool.query<{ beat_at: Date }>('SELECT beat_at FROM items WHERE id = $1', [id]);
  if (!rows[0]) throw new Error(`there is no item ${id}`);
  return rows[0];
}

/** Without its id, in whose digits any short word may turn up. */
function wordsOf(status: Status): Omit<Status, 'id'> {
  return { ...status, id: undefined } as Omit<Status, 'id'>;
}

async function endedBy(way: WayToEnd): Promise<string> {
  const id = await submitted(api.database.pool, { email: EMAIL, skillName: way });
  await waysToEnd(api.database.pool)[way](id);
  return id;
}

const SOON = `now() + interval '20 minutes'`;
const AT = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;

/** What keeps a submission from moving, and what anybody may hear of that. */
const STANDSTILLS: [string, { make: (id: string) => Promise<unknown>; says: RegExp }][] = [
  [
    'no worker',
    { make: async () => undefined, says: /^Nobody works on submissions at the moment\. The operators are told/ },
  ],
  [
    'a pause of the queue',
    {
      make: () => hold(`('submission', 'pause', '', ${SOON}, 'secret cause', 'root')`),
      says: new RegExp(`^It is paused until ${AT} and goes on by itself then`),
    },
  ],
  [
    'a breaker',
    {
      make: async (id) => {
        giveWorker();
        await api.database.pool.query(
          `INSERT INTO breakers (pipeline, class, state, stages, reason, next_pass_at, probe_every_ms)
           VALUES ('submission', 'NETWORK', 'open', '{fetch}', 'secret cause', ${SOON}, 1000)`,
        );
        await api.database.pool.query(
          `INSERT INTO tasks (item_id, visit, stage) SELECT id, visit, 'fetch' FROM items WHERE id = $1
           ON CONFLICT DO NOTHING`,
          [id],
        );
        await hold(`('submission', 'breaker', 'NETWORK', 'infinity', 'secret cause', 'system')`);
      },
      says: new RegExp(
        `^It is held back, because something that submissions need fails .* the next try is made at ${AT}`,
      ),
    },
  ],
  [
    'a run that broke off and waits',
    {
      make: (id) => brokeOff(id, SOON),
      says: new RegExp(`^The work on it broke off; the first check after ${AT} takes it up`),
    },
  ],
  ['a parked one', { make: parkIt, says: /^It waits for an operator, who has been told/ }],
  [
    'an engine that is away',
    {
      make: async () => void (api.engine.mood = 'away'),
      says: /^A part of this service is away, and nothing moves until it is back/,
    },
  ],
];

async function hold(values: string): Promise<void> {
  await api.database.pool.query(`INSERT INTO holds (pipeline, kind, key, until, reason, set_by) VALUES ${values}`);
}

/** Without a worker an item waits for one, whatever else it waits for. */
function giveWorker(): void {
  api.engine.queueStatus = { pollers: [{ identity: 'w', seenAt: new Date() }], backlog: 0, oldestMs: null };
}

async function brokeOff(id: string, nextRescueAfter: string): Promise<void> {
  giveWorker();
  await api.database.pool.query(
    `UPDATE items SET run_ended_at = now() - interval '1 minute', rescues = 1, next_rescue_after = ${nextRescueAfter} WHERE id = $1`,
    [id],
  );
}

async function parkIt(id: string): Promise<void> {
  await api.database.pool.query(
    `UPDATE items SET parked_at = now() - interval '1 minute', parked_why = 'secret cause' WHERE id = $1`,
    [id],
  );
}

afterEach(async () => {
  api.engine.mood = 'well';
  api.engine.queueStatus = { pollers: [], backlog: 0, oldestMs: null };
  await api.database.pool.query('TRUNCATE holds, breakers');
});

describe('the status link of a submission', () => {
  it.each(REJECTIONS)('tells why, and what to do about it, and nothing that is nobody’s business: %s', async (way) => {
    const id = await endedBy(way);
    const status = await statusOf(id);

    expect(Object.keys(status)).toEqual(SHOWN);
    expect(status).toMatchObject({ id, state: (await itemOf(api.database.pool, id)).state });
    for (const { why, remedy } of status.why?.reasons ?? []) expect([why, remedy]).not.toContain('');
    expect(status.why?.reasons.length).toBeGreaterThan(0);
    expect(status.nextAction).toMatch(/[Ss]ubmit the skill again/);
    const told = JSON.stringify(wordsOf(status));
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
    expect(await statusOf(id)).toMatchObject({
      ...{ id, skillName: 'published', state: 'PUBLISHED', why: null },
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
    expect(seen.at(-1)?.nextAction).toBe('It is paused until an operator resumes it; there is nothing to do.');
    expect(seen[0]?.nextAction).toBe('It is taken up in a moment; there is nothing to do.');
    const [first, last] = [seen[0], seen.at(-1)];
    expect(last?.submittedAt).toBe(first?.submittedAt);
    expect(Date.parse(last?.movedAt ?? '')).toBeGreaterThan(Date.parse(first?.movedAt ?? ''));
  });

  it.each(STANDSTILLS)('says of one that does not move what it waits for: %s', async (name, { make, says }) => {
    const { pool } = api.database;
    const id = await submitted(pool, { email: EMAIL, skillName: name.replaceAll(' ', '-') });
    await byHand(pool, submission).walk(id, 'checkVendor:other');
    await pool.query(`UPDATE items SET beat_at = now() - interval '10 minutes' WHERE id = $1`, [id]);
    await make(id);
    const status = await until('it is noticed', async () => {
      const seen = await statusOf(id);
      return says.test(seen.nextAction) && seen;
    });
    expect(Object.keys(status)).toEqual(SHOWN);
    expect(JSON.stringify(wordsOf(status))).not.toMatch(/ada|root|worker-|Temporal|secret cause|NETWORK/);
  });

  it.each([
    ['a moment ago', 10, false],
    ['longer ago than the three minutes after which its owner is warned', 200, true],
  ])('says when it is stale, of one whose last sign of life was %s', async (_, beatAgo, stale) => {
    const state = 'TIER1_SCANNING';
    const id = await makeSubmission(api.database.pool, { state, createdAgo: 300, beatAgo, moves: [[state, 300]] });
    const { beat_at: beatAt } = await rowOf(id);

    expect((await statusOf(id)).staleness).toEqual({
      stale,
      since: beatAt.toISOString(),
      staleAt: new Date(beatAt.getTime() + 180_000).toISOString(),
    });
  });

  it('is never stale while it waits for a person, and after its end', async () => {
    const state = 'NEEDS_REVIEW';
    const waiting = await makeSubmission(api.database.pool, { state, createdAgo: 86_400, moves: [[state, 86_400]] });
    expect((await statusOf(waiting)).staleness).toBeNull();
    expect((await statusOf(await endedBy('cancelled'))).staleness).toBeNull();
  });

  it('opens nothing but itself: any other token leads nowhere, and all of them to the same answer', async () => {
    const token =
      urlOf(await endedBy('cancelled'))
        .split('/')
        .at(-1) ?? '';
    const others = createStatusLinks({ secret: `${SECRET}!`, publicUrl: undefined }, STATUS_LINKS);
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
        ...{ type: 'urn:unstuck:problem:not_found', title: 'Not found', status: 404, code: 'not_found' },
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

describe('a status link', () => {
  it('is null where no secret can sign it', () => {
    const links = createStatusLinks({ secret: undefined, publicUrl: 'https://unstuck.example.com' }, STATUS_LINKS);
    expect(links.statusUrlOf('01934f6c-0000-7000-8000-000000000001')).toBeNull();
    expect(links.itemIn('A'.repeat(64))).toBeNull();
  });

  it('begins with the public address where it is known', () => {
    const links = createStatusLinks({ secret: SECRET, publicUrl: 'https://unstuck.example.com/' }, STATUS_LINKS);
    expect(links.statusUrlOf('01934f6c-0000-7000-8000-000000000001')).toMatch(
      /^https:\/\/unstuck\.example\.com\/api\/v1\/status\/[\w-]{64}$/,
    );
  });
});
