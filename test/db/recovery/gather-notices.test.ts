import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { routeEvents } from '../../../src/db/recovery/deliveries.js';
import { tellGathered } from '../../../src/db/recovery/gather-notices.js';
import { type EventKind, raiseEvent } from '../../../src/db/recovery/outbox.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';

const PUBLIC_URL = 'https://unstuck.example/';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(() => database.pool.query('TRUNCATE outbox, notice_groups CASCADE'));
afterAll(() => database.drop());

interface Given {
  kind?: EventKind;
  pipeline?: string;
  errorClass?: string | null;
  owner?: string;
}

async function raise(count: number, given: Given = {}): Promise<void> {
  const { kind = 'run_failed', pipeline = 'canary', errorClass = 'NETWORK_ERROR', owner } = given;
  for (let n = 0; n < count; n += 1) {
    const itemId = randomUUID();
    const about = { id: `${kind}:${itemId}:1`, kind, pipeline, itemId, ...(owner !== undefined && { owner }) };
    await raiseEvent(database.pool, { ...about, sentence: 'Its run ended.', payload: { errorClass } });
  }
}

/** One turn of a courier. */
async function turn(): Promise<void> {
  await tellGathered(database.pool, PUBLIC_URL);
  while ((await routeEvents(database.pool, () => ['log'], { limit: 100, publicUrl: PUBLIC_URL })) > 0);
}

async function letHourPass(): Promise<void> {
  await database.pool.query(`UPDATE notice_groups SET told_at = told_at - interval '1 hour'`);
}

interface Sent {
  kind: string;
  pipeline: string;
  owner: string | null;
  itemId: string | null;
  sentence: string;
  payload: Record<string, unknown>;
}

async function sent(): Promise<Sent[]> {
  const { rows } = await database.pool.query<Sent>(
    `SELECT kind, pipeline, owner, item_id AS "itemId", sentence, payload FROM outbox o
     WHERE EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = o.id) ORDER BY created_at, id`,
  );
  return rows;
}

const aString = expect.any(String) as string;

describe('events of which an outage raises thousands', () => {
  it('are one notice at once and one an hour later, which counts the rest and links to the items', async () => {
    await raise(1);
    await turn();
    await raise(250);
    await turn();
    await turn();
    expect(await sent()).toMatchObject([{ itemId: aString, sentence: 'Its run ended.' }]);

    await letHourPass();
    await turn();

    const [, counted, ...more] = await sent();
    const link = 'https://unstuck.example/api/v1/items?pipeline=canary&error=NETWORK_ERROR';
    expect(counted).toMatchObject({ kind: 'run_failed', itemId: null, payload: { count: 250, link } });
    expect(counted?.sentence).toMatch(/^250 items of canary with the error NETWORK_ERROR since \S+Z: runs ended/);
    expect(counted?.sentence).toContain(link);
    expect(more).toEqual([]);
  });

  it('are one notice with their count where several begin the hour', async () => {
    await raise(30);
    await turn();
    expect(await sent()).toMatchObject([{ itemId: null, payload: { count: 30 } }]);
  });

  it('are told of at once again after a quiet hour, and leave no group behind', async () => {
    await raise(1);
    await turn();
    await letHourPass();
    await turn();
    expect((await database.pool.query('SELECT 1 FROM notice_groups')).rows).toEqual([]);
    await raise(1);
    await turn();
    expect((await sent()).map(({ itemId }) => itemId)).toEqual([aString, aString]);
  });

  it('are counted apart by kind, pipeline, error class and owner', async () => {
    const groups: Given[] = [
      {},
      { kind: 'item_parked' },
      { kind: 'item_wedged', errorClass: null },
      { pipeline: 'other' },
      { errorClass: 'DB_ERROR' },
      { kind: 'item_exhausted', owner: 'ada' },
      { kind: 'item_exhausted', owner: 'bob' },
    ];
    for (const group of groups) await raise(1, group);
    await turn();
    expect(await sent()).toHaveLength(groups.length);
    for (const group of groups) await raise(2, group);
    await turn();
    expect(await sent()).toHaveLength(groups.length);
    await letHourPass();
    await turn();

    const counted = (await sent()).filter(({ itemId }) => itemId === null);
    expect(counted.map(({ payload }) => payload['count'])).toEqual(groups.map(() => 2));
    expect(counted.map(({ owner }) => owner).filter((owner) => owner !== null)).toEqual(['ada', 'bob']);
    const links = counted.map(({ payload }) => String(payload['link']).split('?')[1]);
    expect(links.toSorted()).toEqual([
      'pipeline=canary&error=DB_ERROR',
      'pipeline=canary&error=NETWORK_ERROR',
      'pipeline=canary&error=NETWORK_ERROR',
      'pipeline=canary&error=NETWORK_ERROR',
      'pipeline=canary&reason=parked',
      'pipeline=canary&reason=wedged',
      'pipeline=other&error=NETWORK_ERROR',
    ]);
  });

  it('are each counted once by couriers that take turns at once', async () => {
    await raise(1);
    await turn();
    await raise(300);
    await Promise.all([turn(), turn(), turn(), turn()]);
    await letHourPass();
    await Promise.all([turn(), turn(), turn()]);
    await turn();
    expect((await sent()).map(({ payload }) => payload['count'] ?? 1)).toEqual([1, 300]);
  });
});

it('other events are told of one by one', async () => {
  await raise(3, { kind: 'breaker_opened' });
  await turn();
  expect(await sent()).toHaveLength(3);
});
