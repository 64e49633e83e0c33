import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { App } from '../../../src/api/parts.js';
import { createOpenStreams } from '../../../src/api/http/open-streams.js';
import { inTransaction } from '../../../src/db/postgres/client.js';
import { createItem } from '../../../src/db/spine/items.js';
import { canary } from '../../../src/domains/canary/table.js';
import { type EventReader, readEvents } from '../../support/event-reader.js';
import { until } from '../../support/until.js';
import { ADMIN, ALICE, BOB, openApi, submit, type TestApi, tokenOf, VIEWER, type Who } from '../setup.js';
import { claim, commit } from '../walked.js';

let api: TestApi;
let url: string;
const readers = new Set<EventReader>();

async function listening(on: TestApi): Promise<string> {
  await on.app.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${String((on.app.server.address() as AddressInfo).port)}`;
}
async function read(path: string, as: Who, lastId?: string, from = url): Promise<EventReader> {
  const authorization = `Bearer ${await tokenOf(as)}`;
  const headers = { authorization, ...(lastId !== undefined && { 'last-event-id': lastId }) };
  const reader = await readEvents(`${from}${path}`, headers);
  readers.add(reader);
  return reader;
}
beforeAll(async () => {
  api = await openApi();
  url = await listening(api);
});
afterAll(async () => {
  for (const reader of readers) await reader.hangUp();
  await api.close();
});

function kindsOf(reader: EventReader): string[] {
  return reader.events.map((each) => `${each.event} ${String(each.id)}`);
}
function movesOf(reader: EventReader): string[] {
  return reader.events.filter((each) => each.event === 'move').map((each) => String(each.data['itemId']));
}

describe('the events of one item', () => {
  it('are told under the address of their domain too, and of no other pipeline', async () => {
    const own = { kind: 'birds', pipeline: 'canary', summary: 'What happens to a canary' };
    const others = { kind: 'others', pipeline: 'other', summary: 'What happens to another item' };
    const following = await openApi({ follows: [own, others] });
    const from = await listening(following);
    try {
      const { id } = await submit(following, ALICE);
      const reader = await read(`/api/v1/birds/${id}/events`, ALICE, undefined, from);
      await reader.sees('the snapshot', (events) => events.length > 0);
      expect(reader.events[0]).toMatchObject({ event: 'snapshot', data: { id, pipeline: 'canary', state: 'FIRST' } });

      expect((await following.call({ url: `/api/v1/others/${id}/events`, as: ALICE })).statusCode).toBe(404);
      expect((await following.call({ url: `/api/v1/birds/${id}/events`, as: BOB })).statusCode).toBe(404);
    } finally {
      await following.close();
    }
  });

  it('begin with a snapshot of the item, then tell each move under its version, and the running tasks', async () => {
    const { id } = await submit(api, ALICE);
    const reader = await read(`/api/v1/items/${id}/events`, ALICE);
    await reader.sees('the snapshot', (events) => events.length > 0);
    expect(reader.events[0]).toMatchObject({ event: 'snapshot', id: '1', data: { id, state: 'FIRST', version: 1 } });

    const claimed = await claim(api, id, 'FIRST', 'first');
    await reader.sees('what runs', (events) =>
      events.some((each) => each.event === 'inflight' && (each.data['inflight'] as unknown[]).length === 1),
    );
    await commit(api, claimed, { is: 'done', outcome: 'done' });

    await reader.sees('the move', (events) => events.some((each) => each.event === 'move'));
    const move = reader.events.find((each) => each.event === 'move');
    expect(move).toMatchObject({ id: '2', data: { from: 'FIRST', to: 'SECOND', version: 2, actorType: 'worker' } });
    await reader.sees('that nothing runs', (events) => {
      const last = events.findLast((each) => each.event === 'inflight');
      return (last?.data['inflight'] as unknown[]).length === 0;
    });
  });

  it('go on where the reader stopped, each move once and in order', async () => {
    const { id } = await submit(api, ALICE);
    const first = await read(`/api/v1/items/${id}/events`, ALICE);
    await first.sees('the snapshot', (events) => events.length > 0);
    await first.hangUp();
    for (const action of ['pause', 'resume', 'pause']) {
      await api.call({ method: 'POST', url: `/api/v1/items/${id}/${action}`, as: ADMIN, payload: { reason: 'x' } });
    }

    const second = await read(`/api/v1/items/${id}/events`, ALICE, first.lastId());
    await second.sees('the snapshot', (events) => events.some((each) => each.event === 'snapshot'));
    await api.call({ method: 'POST', url: `/api/v1/items/${id}/resume`, as: ADMIN });
    await second.sees('the last move', (events) => events.some((each) => each.id === '5'));

    const told = kindsOf(second).filter((each) => !each.startsWith('inflight'));
    expect(told).toEqual(['move 2', 'move 3', 'move 4', 'snapshot 4', 'move 5']);
  });
});

describe('the feed', () => {
  it('tells users of their own items and operators of all, or of one pipeline', async () => {
    const [alices, all, others] = [
      await read('/api/v1/events', ALICE),
      await read('/api/v1/events?pipeline=canary', VIEWER),
      await read('/api/v1/events?pipeline=other', VIEWER),
    ];
    for (const each of [alices, all, others]) await each.sees('that it listens', (events) => events.length > 0);
    const bobs = (await submit(api, BOB)).id;
    const own = (await submit(api, ALICE)).id;

    await all.sees('both', () => movesOf(all).includes(own));
    await alices.sees('her own', () => movesOf(alices).includes(own));
    // Moves of a moment before may be told as well, while an older transaction is open.
    const isNew = (id: string) => id === bobs || id === own;
    expect(movesOf(all).filter(isNew)).toEqual([bobs, own]);
    expect(movesOf(alices).filter(isNew)).toEqual([own]);
    expect(kindsOf(others)).toEqual([expect.stringMatching(/^ready \d+\.\d+$/)]);
    expect(all.events.find((each) => each.data['itemId'] === bobs)?.data).toMatchObject({
      owner: 'bob',
      from: null,
      to: 'FIRST',
      version: 1,
      trigger: 'submitted',
    });
  });

  it('tells open and returning listeners of an early transaction that commits late', async () => {
    const steady = await read('/api/v1/events', VIEWER);
    const leaving = await read('/api/v1/events', VIEWER);
    for (const each of [steady, leaving]) await each.sees('that it listens', (events) => events.length > 0);
    const late = await api.database.pool.connect();
    await late.query('BEGIN');
    const actor = { id: 'ada', type: 'user' } as const;
    const held = await createItem(late, canary, { owner: 'ada', actor, trigger: 'submitted' });
    const quick = (await submit(api, ALICE)).id;
    await leaving.hangUp();
    await late.query('COMMIT');
    late.release();

    const back = await read('/api/v1/events', VIEWER, leaving.lastId());

    for (const each of [steady, back]) {
      await each.sees('both', () => movesOf(each).includes(quick));
      expect(movesOf(each).filter((id) => id === held.id || id === quick)).toEqual([held.id, quick]);
    }
  });

  it('loses and doubles nothing while transactions commit in any order and its reader comes and goes', async () => {
    const writers = 12;
    const each = 6;
    const written: string[] = [];
    async function write(writer: number): Promise<void> {
      for (let n = 0; n < each; n += 1) {
        const created = await inTransaction(api.database.pool, async (transaction) => {
          const actor = { id: 'ada', type: 'user' } as const;
          const made = await createItem(transaction, canary, { owner: 'eve', actor, trigger: 'submitted' });
          // Some transactions stay open for longer than a turn of the hub.
          await delay(((writer * 7 + n * 13) % 10) * 150);
          return made;
        });
        written.push(created.id);
      }
    }
    const seen: string[] = [];
    let reader = await read('/api/v1/events', { sub: 'eve' });
    await reader.sees('that it listens', (events) => events.length > 0);
    let isWriting = true;
    const writing = Promise.all(Array.from({ length: writers }, (_, n) => write(n))).finally(() => {
      isWriting = false;
    });
    while (isWriting) {
      await delay(400);
      await reader.hangUp();
      seen.push(...movesOf(reader));
      reader = await read('/api/v1/events', { sub: 'eve' }, reader.lastId());
    }
    await writing;
    await reader.sees('all of them', () => seen.length + movesOf(reader).length >= writers * each);
    seen.push(...movesOf(reader));
    expect(seen).toHaveLength(writers * each);
    expect([...seen].sort()).toEqual([...written].sort());
  });

  it('resets a listener from another database, and goes on with new moves', async () => {
    const elsewhere = await read('/api/v1/events', { sub: 'frank' }, '999999999999.1');
    await elsewhere.sees('that it listens', (events) => events.length > 1);
    expect(elsewhere.events.map((event) => event.event)).toEqual(['reset', 'ready']);
    const { id } = await submit(api, { sub: 'frank' });
    await elsewhere.sees('what comes', () => movesOf(elsewhere).includes(id));
  });

  it('tells an open listener of a whole burst, and a returning listener that too much was missed', async () => {
    const burst = 2_600;
    const greta = { sub: 'greta' };
    const [steady, leaving] = [await read('/api/v1/events', greta), await read('/api/v1/events', greta)];
    for (const each of [steady, leaving]) await each.sees('that it listens', (events) => events.length > 0);
    await leaving.hangUp();
    await api.database.pool.query(
      `INSERT INTO audit (item_id, pipeline, owner, version, visit, epoch, to_state, trigger, actor, actor_type)
       SELECT gen_random_uuid(), 'canary', 'greta', 1, 1, 1, 'FIRST', 'submitted', 'greta', 'user' FROM generate_series(1, $1)`,
      [burst],
    );
    await steady.sees('the burst', () => movesOf(steady).length >= burst);
    expect(new Set(movesOf(steady)).size).toBe(burst);

    const back = await read('/api/v1/events', greta, leaving.lastId());

    await back.sees('that it listens', (events) => events.at(-1)?.event === 'ready');
    expect(back.events.filter((each) => each.event === 'reset')).toHaveLength(1);
    expect(movesOf(back)).toHaveLength(2_000);
  });
});

describe('streams', () => {
  it('are limited for one caller and for the process, and free again when they are closed', async () => {
    const limited = await openApi({ limits: { maxStreams: 3, maxStreamsPerCaller: 2 } });
    const from = await listening(limited);
    try {
      const own = [
        await read('/api/v1/events', ALICE, undefined, from),
        await read('/api/v1/events', ALICE, undefined, from),
      ];
      const third = await read('/api/v1/events', ALICE, undefined, from);
      expect([third.status, JSON.parse(await third.body())]).toMatchObject([429, { code: 'rate_limited' }]);
      const bobs = await read('/api/v1/events', BOB, undefined, from);
      expect(bobs.status).toBe(200);
      expect((await read('/api/v1/events', VIEWER, undefined, from)).status).toBe(503);

      await own[0]?.hangUp();
      await until('there is room again', async () => {
        const again = await read('/api/v1/events', ALICE, undefined, from);
        return again.status === 200;
      });
    } finally {
      await limited.close();
    }
  });

  it('end when the server does', async () => {
    const closing = await openApi();
    const from = await listening(closing);
    const { id } = await submit(closing, ALICE);
    const open = [
      await read('/api/v1/events', ALICE, undefined, from),
      await read(`/api/v1/items/${id}/events`, ALICE, undefined, from),
    ];
    await closing.close();
    for (const each of open) await each.ended;
  });

  it('are dropped when their reader does not read', () => {
    const app = { addHook: () => undefined } as unknown as App;
    const streams = createOpenStreams(app, { maxStreams: 1, maxStreamsPerCaller: 1 });
    const stream = streams.open('slow');
    for (let n = 0; n < 20 && stream.isOpen(); n += 1) stream.send({ event: 'move', data: { x: 'x'.repeat(100_000) } });
    expect(stream.isOpen()).toBe(false);
  });
});
