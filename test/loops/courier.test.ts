import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createLogNotifier } from '../../src/adapters/notifier-log.js';
import { createWebhookNotifier } from '../../src/adapters/notifier-webhook.js';
import { type CourierDeps, deliverDue, routeDue, startCourier } from '../../src/loops/courier.js';
import { createPool } from '../../src/db/postgres/client.js';
import { raiseEvent } from '../../src/db/recovery/outbox.js';
import type { Channels, Notifier } from '../../src/ports/notifier.js';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.js';
import { type Receiver, startReceiver } from '../adapters/receiver.js';
import { PATIENT } from '../ports/notifier-contract.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { until } from '../support/until.js';

/** The collector, as `--expose-gc` would give it. */
function exposeGc(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const silent = pino({ level: 'silent' });
const policy = { tries: 5, firstWaitMs: 60_000, timeoutMs: 10_000 };

let database: TestDatabase;
let pool: pg.Pool;
let receiver: Receiver;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ url: database.url, size: 10, name: 'courier test' });
  receiver = await startReceiver();
});
beforeEach(async () => {
  await database.pool.query('TRUNCATE outbox CASCADE');
  receiver.received.length = 0;
  receiver.behave('well');
});
afterAll(async () => {
  await receiver.close();
  await pool.end();
  await database.drop();
});

function webhook(): Notifier {
  return createWebhookNotifier({ url: receiver.url, secret: SECRET, allowPrivate: true });
}

/** A channel that takes and keeps every notice. */
function recorder(reaches: Notifier['reaches'] = () => true): Notifier & { ids: string[] } {
  const ids: string[] = [];
  return {
    ids,
    reaches,
    async deliver({ id }) {
      ids.push(id);
    },
  };
}

function depsOf(channels: Omit<Channels, 'log'>, given: Partial<CourierDeps> = {}): CourierDeps & { metrics: Metrics } {
  const metrics = createMetrics();
  return { pool, channels: { log: createLogNotifier(silent), ...channels }, policy, logger: silent, ...given, metrics };
}

async function raise(given: { id?: string; owner?: string } = {}): Promise<string> {
  const id = given.id ?? `no_worker:${randomUUID()}`;
  await raiseEvent(pool, { kind: 'no_worker', sentence: 'Nobody works.', pipeline: 'canary', ...given, id });
  return id;
}

async function routed(deps: CourierDeps, given: Parameters<typeof raise>[0] = {}): Promise<string> {
  const id = await raise(given);
  await routeDue(deps);
  return id;
}

interface DeliveryRow {
  channel: string;
  tries: number;
  delivered: boolean;
  failed: boolean;
  last_error: string | null;
  wait_s: number;
}

async function deliveryOf(id: string, channel: string): Promise<DeliveryRow | undefined> {
  const { rows } = await database.pool.query<DeliveryRow>(
    `SELECT channel, tries, delivered_at IS NOT NULL AS delivered, failed_at IS NOT NULL AS failed, last_error,
       extract(epoch FROM due_at - now())::float8 AS wait_s FROM deliveries WHERE event_id = $1 AND channel = $2`,
    [id, channel],
  );
  return rows[0];
}

/** Ends the wait a second ago: times are stored in milliseconds, so that `now` rounded up may still lie ahead. */
async function letDue(): Promise<void> {
  await database.pool.query(`UPDATE deliveries SET due_at = now() - interval '1 second'`);
}

describe('an event', () => {
  it('goes once to every channel that reaches a receiver', async () => {
    const operatorsOnly = recorder(({ owner }) => owner === null);
    const deps = depsOf({ webhook: recorder(), slack: operatorsOnly });
    const forOperators = await raise();
    const forOwner = await raise({ owner: 'alice' });

    expect(await routeDue(deps)).toBe(2);
    expect(await routeDue(deps)).toBe(0);

    const { rows } = await database.pool.query<{ at: string }>(
      `SELECT event_id || ' ' || channel AS at FROM deliveries ORDER BY at`,
    );
    const expected = [`${forOperators} log`, `${forOperators} slack`, `${forOperators} webhook`];
    expect(rows.map(({ at }) => at)).toEqual([...expected, `${forOwner} log`, `${forOwner} webhook`].sort());
  });

  it('is given up after a day on a channel that is no longer configured, and only there', async () => {
    const id = await routed(depsOf({ slack: recorder(), webhook: recorder() }));
    await pool.query(`UPDATE deliveries SET due_at = now() - interval '25 hours'`);

    await routeDue(depsOf({ webhook: recorder() }));

    const { rows } = await pool.query<{ channel: string }>(
      'SELECT channel, last_error AS error FROM deliveries WHERE event_id = $1 AND failed_at IS NOT NULL',
      [id],
    );
    expect(rows).toEqual([{ channel: 'slack', error: 'this channel is no longer configured' }]);
  });

  it('that is raised twice is one event, before and after its delivery', async () => {
    const deps = depsOf({ webhook: webhook() });
    const id = await raise();
    await raise({ id });
    await routeDue(deps);
    await deliverDue(deps, 'webhook', PATIENT);

    await raise({ id });
    await routeDue(deps);
    await deliverDue(deps, 'webhook', PATIENT);

    expect(receiver.received).toHaveLength(1);
  });

  it('is delivered once by many couriers at once', async () => {
    const ids = await Promise.all(Array.from({ length: 60 }, () => raise()));
    const couriers = Array.from({ length: 4 }, () => startCourier(depsOf({ webhook: webhook() })));
    onTestFinished(async () => {
      await Promise.all(couriers.map((courier) => courier.stop()));
    });

    await until('all are delivered', async () => {
      const { rows } = await database.pool.query<{ n: number }>(
        'SELECT count(*)::int AS n FROM deliveries WHERE delivered_at IS NOT NULL',
      );
      return rows[0]?.n === 120;
    });

    expect(receiver.received.map(({ headers }) => headers['webhook-id']).sort()).toEqual(ids.sort());
  });

  it('of a transaction that was rolled back is never delivered', async () => {
    const client = await pool.connect();
    await client.query('BEGIN');
    await raiseEvent(client, { id: 'sweep_late:1', kind: 'sweep_late', sentence: 'Late.' });
    await client.query('ROLLBACK');
    client.release();

    expect(await routeDue(depsOf({}))).toBe(0);
  });
});

describe('a receiver', () => {
  it('that fails twice and then works gets the event, under one id, after waits that grow', async () => {
    const deps = depsOf({ webhook: webhook() });
    const id = await routed(deps);
    receiver.behave('overloaded');

    for (const [tries, waitS] of [
      [1, 60],
      [2, 120],
    ] as const) {
      await deliverDue(deps, 'webhook', PATIENT);
      const row = await deliveryOf(id, 'webhook');
      expect(row).toMatchObject({ tries, delivered: false, last_error: 'the receiver answered 503: come back later' });
      expect(row?.wait_s).toBeGreaterThan(waitS - 30);
      expect(row?.wait_s).toBeLessThanOrEqual(waitS * 1.2);
      expect(await deliverDue(deps, 'webhook', PATIENT)).toBe(0);
      await letDue();
    }
    receiver.behave('well');
    await deliverDue(deps, 'webhook', PATIENT);

    expect(await deliveryOf(id, 'webhook')).toMatchObject({
      tries: 3,
      delivered: true,
      failed: false,
      last_error: null,
    });
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id, id]);
    expect(await deps.metrics.registry.getSingleMetricAsString('unstuck_notification_deliveries_total')).toMatch(
      /channel="webhook",result="retried"} 2\n.*channel="webhook",result="delivered"} 1/,
    );
  });

  it('that asks for a wait gets it', async () => {
    const deps = depsOf({ webhook: webhook() });
    const id = await routed(deps);
    receiver.answer((response) => response.writeHead(429, { 'retry-after': '1800' }).end());

    await deliverDue(deps, 'webhook', PATIENT);

    expect((await deliveryOf(id, 'webhook'))?.wait_s).toBeGreaterThan(1_700);
  });

  it('that refuses for good is not asked again', async () => {
    const deps = depsOf({ webhook: webhook() });
    const id = await routed(deps);
    receiver.behave('refusing');

    await deliverDue(deps, 'webhook', PATIENT);
    await letDue();

    expect(await deliverDue(deps, 'webhook', PATIENT)).toBe(0);
    expect(await deliveryOf(id, 'webhook')).toMatchObject({ tries: 1, failed: true });
  });

  it('that never works is given up after the last try', async () => {
    const deps = depsOf({ webhook: webhook() }, { policy: { ...policy, tries: 3 } });
    const id = await routed(deps);
    receiver.behave('gone');

    for (let n = 0; n < 5; n += 1) {
      await deliverDue(deps, 'webhook', PATIENT);
      await letDue();
    }

    expect(receiver.received).toHaveLength(3);
    expect(await deliveryOf(id, 'webhook')).toMatchObject({ tries: 3, failed: true, last_error: 'socket hang up' });
  });

  it('that hangs costs its time limit and is tried again', async () => {
    const deps = depsOf({ webhook: webhook() }, { policy: { ...policy, timeoutMs: 200 } });
    const id = await routed(deps);
    receiver.behave('silent');

    await deliverDue(deps, 'webhook', PATIENT);

    expect(await deliveryOf(id, 'webhook')).toMatchObject({
      tries: 1,
      failed: false,
      last_error: 'the receiver did not answer in time',
    });
  });

  it('that hangs costs no more when memory is collected meanwhile', async () => {
    const collect = exposeGc();
    const hanging: Notifier = {
      reaches: () => true,
      async deliver(_notice, signal) {
        const over = new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('cut off')));
        });
        setImmediate(collect);
        await over;
      },
    };
    const deps = depsOf({ webhook: hanging }, { policy: { ...policy, timeoutMs: 200 } });
    const id = await routed(deps);

    await deliverDue(deps, 'webhook', new AbortController().signal);

    expect(await deliveryOf(id, 'webhook')).toMatchObject({ tries: 1, last_error: 'cut off' });
  });

  it('that hangs does not delay the others', async () => {
    receiver.behave('silent');
    const quick = recorder();
    const courier = startCourier(depsOf({ webhook: webhook(), slack: quick }));
    onTestFinished(() => courier.stop());
    await raise();
    await until('the slow one is being asked', () => receiver.received.length > 0);

    const later = await raise();

    await until('the quick one has the later event', () => quick.ids.includes(later));
    expect(receiver.received).toHaveLength(1);
  });
});

describe('a courier', () => {
  it('that is told to stop cuts off a receiver that hangs, and the delivery is due again', async () => {
    receiver.behave('silent');
    const courier = startCourier(depsOf({ webhook: webhook() }, { policy: { ...policy, timeoutMs: 600_000 } }));
    const id = await raise();
    await until('it is being delivered', () => receiver.received.length > 0);

    await courier.stop();

    expect(await deliveryOf(id, 'webhook')).toMatchObject({
      delivered: false,
      failed: false,
      last_error: 'stopped before the receiver had answered',
    });
  });

  it('that dies between sending and marking leaves the delivery to another courier, which sends the same id', async () => {
    const child = fork(new URL('../support/courier-child.ts', import.meta.url), {
      execArgv: ['--import', 'tsx'],
      env: { ...process.env, TEST_DATABASE_URL: database.url, TEST_URL: receiver.url, TEST_SECRET: SECRET },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    // The courier is killed after it has sent the request, so that no mark is ever written.
    receiver.answer((response) => {
      child.kill('SIGKILL');
      response.writeHead(204).end();
    });
    const id = await raise();
    await once(child, 'exit');
    expect(await deliveryOf(id, 'webhook')).toMatchObject({ tries: 1, delivered: false, failed: false });
    receiver.behave('well');
    const deps = depsOf({ webhook: webhook() });

    expect(await deliverDue(deps, 'webhook', PATIENT)).toBe(0);
    await letDue();
    expect(await deliverDue(deps, 'webhook', PATIENT)).toBe(1);

    expect(await deliveryOf(id, 'webhook')).toMatchObject({ tries: 2, delivered: true });
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
    expect(receiver.received[0]?.body).toBe(receiver.received[1]?.body);
  });

  it('that dies at every try gives the delivery up in the end', async () => {
    const deps = depsOf({ webhook: webhook() }, { policy: { ...policy, tries: 2 } });
    const id = await routed(deps);
    await database.pool.query('UPDATE deliveries SET tries = 2');

    await deliverDue(deps, 'webhook', PATIENT);

    expect(receiver.received).toHaveLength(0);
    expect(await deliveryOf(id, 'webhook')).toMatchObject({
      failed: true,
      last_error: 'the last try was not seen to end',
    });
  });

  it('marks a delivery though the database refuses at first, and does not send it again', async () => {
    const deps = depsOf({ webhook: webhook() });
    const id = await routed(deps);
    const locker = await database.pool.connect();
    receiver.answer((response) => {
      // A courier that writes the row now waits for the lock until the database refuses.
      void locker
        .query('BEGIN')
        .then(() => locker.query('SELECT 1 FROM deliveries WHERE event_id = $1 FOR UPDATE', [id]))
        .then(() => response.writeHead(204).end());
    });
    let warned = 0;
    const logger = { ...silent, warn: () => (warned += 1) } as unknown as typeof silent;

    const delivering = deliverDue({ ...deps, logger }, 'webhook', PATIENT);
    await until('a write was refused', () => warned > 0);
    await locker.query('ROLLBACK');
    locker.release();
    await delivering;

    expect(await deliveryOf(id, 'webhook')).toMatchObject({ delivered: true, tries: 1 });
    expect(receiver.received).toHaveLength(1);
  });

  it('goes on when the database is away, and stops when it is told to', async () => {
    const away = createPool({ url: 'postgres://nobody@127.0.0.1:1/none', size: 1, name: 'away' });
    let warned = 0;
    const logger = { ...silent, warn: () => (warned += 1) } as unknown as typeof silent;
    const courier = startCourier(depsOf({}, { pool: away, logger }));

    await until('it has tried twice', () => warned >= 4);

    await courier.stop();
    await away.end();
  });

  it('leaves deliveries of a channel that it does not have', async () => {
    const id = await routed(depsOf({ webhook: webhook() }));

    expect(await deliverDue(depsOf({}), 'webhook', PATIENT)).toBe(0);

    expect(await deliveryOf(id, 'webhook')).toMatchObject({ tries: 0, failed: false });
  });

  it('that was overtaken does not undo the mark of another courier', async () => {
    const deps = depsOf({ webhook: webhook() });
    const id = await routed(deps);
    receiver.answer((response) => {
      // During this delivery its lease ends, and another courier makes it.
      void database.pool
        .query('UPDATE deliveries SET tries = tries + 1, delivered_at = now() WHERE event_id = $1', [id])
        .then(() => response.writeHead(500).end());
    });

    await deliverDue(deps, 'webhook', PATIENT);

    expect(await deliveryOf(id, 'webhook')).toMatchObject({ delivered: true, failed: false, last_error: null });
  });
});
