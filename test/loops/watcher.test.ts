import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { buryWorker, startWatcher, type Watcher } from '../../src/loops/watcher.js';
import { createPool } from '../../src/db/postgres/client.js';
import { migrate } from '../../src/db/postgres/migrate.js';
import { holdPresence } from '../../src/db/recovery/hold-presence.js';
import { openSession } from '../../src/db/postgres/session.js';
import {
  lockWorker,
  registerWorker,
  reportExit,
  retireWorker,
  type WorkerProcess,
} from '../../src/db/recovery/workers.js';
import { startPostgres } from '../../src/start/embedded/embedded-postgres.js';
import { freePort } from '../support/free-port.js';
import { projectRoot } from '../../src/config.js';
import { tempDir } from '../start/temp-dir.js';
import { byHand, openSpine, type Spine } from '../support/spine.js';
import { straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { silent } from '../support/worker.js';
import { createFakeEngine, type FakeEngine } from '../api/fake-engine.js';

vi.setConfig({ testTimeout: 120_000 });

/** The product's own time. */
const GONE_FOR_MS = 250;

let spine: Spine;
beforeAll(async () => {
  spine = await openSpine();
});
afterAll(() => spine.close());

let lastPid = 0;

function processOf(name: string): WorkerProcess {
  const id = `${name}-${randomUUID().slice(0, 8)}`;
  return { id, name: id, host: 'here', pid: (lastPid += 1), build: 'test', pipelines: [straight.name] };
}

type Place = Pick<Spine, 'url' | 'limited'>;

/** The presence of a worker, held by the test's process. Its connection breaks and comes back like a worker's. */
async function live({ url, limited }: Place = spine): Promise<string> {
  const worker = processOf('live');
  const presence = await holdPresence({ url, pool: limited, worker });
  onTestFinished(() => presence.retire().catch(() => undefined));
  return worker.id;
}

/** A worker that the test can kill: the server sees its connection close, like that of a killed process. */
async function mortal(): Promise<WorkerProcess & { die(): void }> {
  const worker = processOf('mortal');
  const session = await openSession({ url: spine.url, name: `${worker.name} presence` });
  await lockWorker(session, worker.id);
  await registerWorker(session, worker);
  onTestFinished(session.close);
  return { ...worker, die: session.close };
}

function watching(engine: FakeEngine = createFakeEngine(), place: Place = spine): Watcher {
  const watched = { directUrl: place.url, pool: place.limited, goneForMs: GONE_FOR_MS };
  const watcher = startWatcher({ ...watched, engine, logger: silent });
  onTestFinished(() => watcher.stop());
  return watcher;
}

/** Waits for so many looks that began after now: one more than that, because the first may be under way. */
async function looked(watcher: Watcher, times: number): Promise<void> {
  for (let looks = 0; looks <= times; looks += 1) {
    const before = watcher.lastTurnAt();
    await until('the watcher has looked', () => watcher.lastTurnAt() !== before);
  }
}

interface WorkerFacts {
  seenGoneAt: Date | null;
  diedAt: Date | null;
  deaths: number;
}

async function factsOf(id: string, { limited }: Place = spine): Promise<WorkerFacts> {
  const { rows } = await limited.query<WorkerFacts>(
    'SELECT seen_gone_at AS "seenGoneAt", died_at AS "diedAt", deaths FROM workers WHERE id = $1',
    [id],
  );
  if (!rows[0]) throw new Error(`there is no worker ${id}`);
  return rows[0];
}

async function dead(id: string): Promise<void> {
  await until(`${id} is marked`, async () => (await factsOf(id)).diedAt);
}

/** Ends the sessions of that name and says how many there were. */
async function cut(name: string): Promise<number> {
  const { rows } = await spine.pool.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ $1 AND datname = current_database()',
    [name],
  );
  return rows.length;
}

async function allHeld(ids: readonly string[], place: Place = spine): Promise<void> {
  await until('every lock is held again', async () => (await heldOf(ids, place)) === ids.length);
}

/** How many of the workers' locks are held; undefined while the database is away. */
async function heldOf(ids: readonly string[], { limited }: Place = spine): Promise<number | undefined> {
  const { rows } = await limited
    .query<{ held: number }>(
      `SELECT count(DISTINCT w.id)::int AS held FROM workers w JOIN pg_locks l ON l.locktype = 'advisory' AND l.granted
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND (l.classid::bigint << 32 | l.objid::bigint) = w.lock_key WHERE w.id = ANY ($1)`,
      [ids],
    )
    .catch(() => ({ rows: [] }));
  return rows[0]?.held;
}

const ALIVE = { seenGoneAt: null, diedAt: null, deaths: 0 };

describe('a worker whose process ends without a word', () => {
  it('loses its attempts and its runs, and is marked after that', async () => {
    const engine = createFakeEngine();
    const hand = byHand(spine.limited, straight);
    const worker = await mortal();
    const held = await hand.make();
    await hand.claimed(held, { worker: worker.id });
    const elsewhere = await hand.make();
    await hand.claimed(elsewhere, { worker: 'another' });
    await looked(watching(engine), 1);

    worker.die();
    await dead(worker.id);

    expect(engine.unstuck).toMatchObject([{ pipeline: straight.name, itemId: held, epoch: 1 }]);
    expect(engine.failed).toEqual([{ token: Buffer.from('token'), why: `worker died: ${worker.id}` }]);
    const { seenGoneAt, diedAt, deaths } = await factsOf(worker.id);
    expect(deaths).toBe(1);
    expect(seenGoneAt?.getTime()).toBeLessThanOrEqual(diedAt?.getTime() ?? 0);
  });

  it('is counted once, however many watchers there are', async () => {
    const worker = await mortal();
    const watchers = [watching(), watching(), watching()];
    await Promise.all(watchers.map((each) => looked(each, 1)));

    worker.die();
    await dead(worker.id);
    await Promise.all(watchers.map((each) => looked(each, 3)));

    expect(await factsOf(worker.id)).toMatchObject({ deaths: 1 });
  });

  it('is marked as dead only after Temporal is back', async () => {
    const engine = createFakeEngine();
    const hand = byHand(spine.limited, straight);
    const worker = await mortal();
    await hand.claimed(await hand.make(), { worker: worker.id });
    const watcher = watching(engine);
    await looked(watcher, 1);
    engine.mood = 'away';

    worker.die();
    await until('it is seen', async () => (await factsOf(worker.id)).seenGoneAt);
    await looked(watcher, 1);
    expect(await factsOf(worker.id)).toMatchObject({ diedAt: null, deaths: 0 });
    engine.mood = 'well';
    await dead(worker.id);

    expect(engine.failed).toHaveLength(1);
  });

  it('is buried by another watcher, which never saw it live, if the first one dies half-way', async () => {
    const hand = byHand(spine.limited, straight);
    const worker = await mortal();
    await hand.claimed(await hand.make(), { worker: worker.id });
    const first = createFakeEngine();
    let interrupt: (error: Error) => void = () => undefined;
    const interrupted = new Promise<never>((_, reject) => {
      interrupt = reject;
    });
    const failAttempt = first.failAttempt.bind(first);
    // For the database the first watcher is killed here, between ending the attempt and the mark.
    first.failAttempt = async (token, why) => {
      await failAttempt(token, why);
      return interrupted;
    };
    await looked(watching(first), 1);
    worker.die();
    await until('the first has ended the attempt', () => first.failed.length > 0);
    expect(await factsOf(worker.id)).toMatchObject({ diedAt: null });

    const second = createFakeEngine();
    watching(second);
    await dead(worker.id);

    expect(second.failed).toHaveLength(1);
    expect(await factsOf(worker.id)).toMatchObject({ deaths: 1 });
    interrupt(new Error('killed'));
  });

  it('is left to its heartbeats by a watcher that never saw it live', async () => {
    const worker = await mortal();
    worker.die();
    const watcher = watching();
    await looked(watcher, 5);
    expect(await factsOf(worker.id)).toEqual(ALIVE);
  });
});

describe('a worker whose end is reported by its parent process', () => {
  it('is buried even by a watcher that never saw it live', async () => {
    const engine = createFakeEngine();
    const hand = byHand(spine.limited, straight);
    const worker = await mortal();
    await hand.claimed(await hand.make(), { worker: worker.id });
    worker.die();
    await until('the lock is gone', async () => (await heldOf([worker.id])) === 0);

    await reportExit(spine.limited, worker);
    watching(engine);

    await dead(worker.id);
    expect(engine.failed).toHaveLength(1);
  });

  it('is believed to live as long as it holds its lock, and left alone if it has signed off', async () => {
    const wrong = await mortal();
    const { id, ...retired } = await mortal();
    await retireWorker(spine.limited, id);

    await reportExit(spine.limited, wrong);
    await reportExit(spine.limited, retired);
    await looked(watching(), 5);

    expect(await factsOf(wrong.id)).toMatchObject({ diedAt: null, deaths: 0 });
    expect(await factsOf(id)).toEqual(ALIVE);
  });
});

describe('a worker that lives', () => {
  it('is not taken for dead when it signs off', async () => {
    const worker = processOf('retiring');
    const presence = await holdPresence({ url: spine.url, pool: spine.limited, worker });
    const watcher = watching();
    await looked(watcher, 1);
    await presence.retire();
    await looked(watcher, 5);
    expect(await factsOf(worker.id)).toEqual(ALIVE);
  });

  it('is left alone when it gave a sign of life after the look that found it gone', async () => {
    const engine = createFakeEngine();
    const hand = byHand(spine.limited, straight);
    const { id } = await mortal();
    await hand.claimed(await hand.make(), { worker: id });
    const look = { id, isHeld: false, seenAt: new Date(0), seenGoneAt: null };

    await buryWorker({ pool: spine.limited, engine, logger: silent }, look);

    expect(engine.failed).toEqual([]);
    expect(await factsOf(id)).toEqual(ALIVE);
  });

  it('takes back a verdict by registering again', async () => {
    const worker = await mortal();
    await looked(watching(), 1);
    worker.die();
    await dead(worker.id);

    await registerWorker(spine.limited, { ...processOf('x'), id: worker.id });

    expect(await factsOf(worker.id)).toEqual({ seenGoneAt: null, diedAt: null, deaths: 1 });
  });

  const TEN = Array.from({ length: 10 });

  it.each([
    ['one worker’s lock session', (ids: string[]) => `${String(ids[0])} presence`, 1],
    ['the watcher’s session', () => 'watcher', 1],
    ['all of them at once', () => '(presence|watcher)$', 11],
  ])('is not taken for dead, nor are nine others, when the server ends %s', async (_, nameOf, atLeast) => {
    const ids = await Promise.all(TEN.map(() => live()));
    const watcher = watching();
    await looked(watcher, 1);

    expect(await cut(nameOf(ids))).toBeGreaterThanOrEqual(atLeast);

    await allHeld(ids);
    await looked(watcher, 5);
    for (const id of ids) expect(await factsOf(id)).toEqual(ALIVE);
  });

  it('is not taken for dead, nor are nine others, when Postgres is restarted', async () => {
    const settings = { dataDir: tempDir(), port: await freePort(), log: () => undefined };
    let server = await startPostgres(settings);
    onTestFinished(() => server.stop());
    await migrate(server.url, `${projectRoot}/prisma/migrations`);
    const place = { url: server.url, limited: createPool({ url: server.url, size: 5, name: 'limited' }) };
    onTestFinished(() => place.limited.end());
    const ids = await Promise.all(TEN.map(() => live(place)));
    const watcher = watching(createFakeEngine(), place);
    await looked(watcher, 1);

    await server.stop();
    server = await startPostgres(settings);

    await allHeld(ids, place);
    await looked(watcher, 5);
    for (const id of ids) expect(await factsOf(id, place)).toEqual(ALIVE);
  });
});
