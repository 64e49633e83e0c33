import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { raiseEvent } from '../../../src/db/recovery/outbox.js';
import { ADMIN, ALICE, openApi, REVIEWER, type TestApi, VIEWER } from '../setup.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi();
});
beforeEach(() => api.database.pool.query('TRUNCATE outbox CASCADE'));
afterAll(() => api.close());

interface Page {
  notifications: { id: string; deliveries: { channel: string; status: string }[] }[];
  nextCursor: string | null;
}

async function pageOf(query = ''): Promise<Page> {
  const response = await api.call({ url: `/api/v1/notifications${query}`, as: VIEWER });
  expect(response.statusCode, response.body).toBe(200);
  return response.json<Page>();
}

async function raise(id: string): Promise<void> {
  await raiseEvent(api.database.pool, { id, kind: 'sweep_late', sentence: 'The sweep is late.', pipeline: 'canary' });
}

async function deliveries(id: string, ...values: string[]): Promise<void> {
  for (const value of values) {
    await api.database.pool.query(
      `INSERT INTO deliveries (event_id, channel, tries, due_at, delivered_at, failed_at, last_error) VALUES ($1, ${value})`,
      [id],
    );
  }
}

const DELIVERED = `'log', 1, '2026-01-01', '2026-01-02', NULL, NULL`;
const FAILED = `'slack', 20, '2026-01-01', NULL, '2026-01-03', 'the receiver answered 500'`;
const WAITING = `'smtp', 2, '2026-01-04', NULL, NULL, 'no answer'`;

describe('the list of notifications', () => {
  it('is for operators', async () => {
    expect((await api.call({ url: '/api/v1/notifications' })).statusCode).toBe(401);
    expect((await api.call({ url: '/api/v1/notifications', as: ALICE })).statusCode).toBe(403);
    for (const as of [VIEWER, REVIEWER, ADMIN]) {
      expect((await api.call({ url: '/api/v1/notifications', as })).statusCode).toBe(200);
    }
  });

  it('says of each event what became of it on every channel', async () => {
    const itemId = randomUUID();
    await raiseEvent(api.database.pool, {
      id: 'item_exhausted:1',
      kind: 'item_exhausted',
      sentence: 'It does not move.',
      itemId,
      owner: 'alice',
      payload: { rescues: 3 },
    });
    await deliveries('item_exhausted:1', WAITING, DELIVERED, FAILED);

    const { notifications, nextCursor } = await pageOf();

    expect(nextCursor).toBeNull();
    expect(notifications).toEqual([
      {
        id: 'item_exhausted:1',
        kind: 'item_exhausted',
        sentence: 'It does not move.',
        pipeline: null,
        itemId,
        owner: 'alice',
        isPrivate: false,
        payload: { rescues: 3 },
        at: expect.stringMatching(/Z$/) as string,
        deliveries: [
          expect.objectContaining({ channel: 'log', status: 'delivered', deliveredAt: '2026-01-02T00:00:00.000Z' }),
          expect.objectContaining({
            channel: 'slack',
            status: 'failed',
            tries: 20,
            failedAt: '2026-01-03T00:00:00.000Z',
            nextTryAt: null,
            lastError: 'the receiver answered 500',
          }),
          expect.objectContaining({ channel: 'smtp', status: 'waiting', nextTryAt: '2026-01-04T00:00:00.000Z' }),
        ],
      },
    ]);
  });

  it('finds those of which a delivery was given up', async () => {
    await raise('well');
    await deliveries('well', DELIVERED, WAITING);
    await raise('lost');
    await deliveries('lost', DELIVERED, FAILED);

    expect((await pageOf('?failed=true')).notifications.map(({ id }) => id)).toEqual(['lost']);
    expect((await pageOf('?failed=false')).notifications).toHaveLength(2);
  });

  it('gives every event once over its pages, of one moment too, whatever comes in between', async () => {
    const ids = ['a b', 'ü:1', '%', '100%:x', 'plain', "it's", 'z/z?'];
    for (const id of ids) await raise(id);
    await api.database.pool.query(`UPDATE outbox SET created_at = '2026-01-01' WHERE id <> 'plain'`);

    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Page = await pageOf(`?limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...page.notifications.map(({ id }) => id));
      if (seen.length === 2) await raise('came later');
      cursor = page.nextCursor;
    }

    expect(seen[0]).toBe('plain');
    expect(seen.sort()).toEqual(ids.sort());
  });

  it('refuses a cursor that is not its own, and pages without bound', async () => {
    await raise('a');
    await raise('b');
    const { nextCursor } = await pageOf('?limit=1');
    const broken = Buffer.from('1:%E0%A4%A x').toString('base64url');

    for (const query of [
      `cursor=${String(nextCursor)}&failed=true`,
      'cursor=nonsense',
      `cursor=${broken}`,
      'limit=101',
    ]) {
      const response = await api.call({ url: `/api/v1/notifications?${query}`, as: VIEWER });
      expect(response.statusCode, query).toBe(400);
    }
  });
});
