import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { holdPresence, type Presence } from '../../../src/db/recovery/hold-presence.js';
import { openSession } from '../../../src/db/postgres/session.js';
import { lockWorker, type WorkerProcess } from '../../../src/db/recovery/workers.js';
import { type Proxy, startProxy } from '../../support/proxy.js';
import { openSpine, type Spine } from '../../support/spine.js';
import { until } from '../../support/until.js';

vi.setConfig({ testTimeout: 120_000 });

let spine: Spine;
beforeAll(async () => {
  spine = await openSpine();
});
afterAll(() => spine.close());

/** A worker whose lock is held over a wire that can be damaged, and how often it was lost and held again. */
async function present(): Promise<{ worker: WorkerProcess; presence: Presence; proxy: Proxy; story: string[] }> {
  const proxy = await startProxy(Number(new URL(spine.url).port));
  onTestFinished(() => proxy.close());
  const url = new URL(spine.url);
  url.port = String(proxy.port);
  const id = `worker-${randomUUID().slice(0, 8)}`;
  const worker = { id, name: id, host: 'here', pid: 1, build: 'test', pipelines: ['canary'] };
  const story: string[] = [];
  const presence = await holdPresence({
    url: url.href,
    pool: spine.limited,
    worker,
    onLost: () => story.push('lost'),
    onHeld: () => story.push('held'),
  });
  onTestFinished(() => presence.retire().catch(() => undefined));
  return { worker, presence, proxy, story };
}

/** The sessions that hold the worker's lock. */
async function holders({ id }: WorkerProcess): Promise<number[]> {
  const { rows } = await spine.pool.query<{ pid: number }>(
    `SELECT l.pid FROM workers w JOIN pg_locks l ON l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
       AND (l.classid::bigint << 32 | l.objid::bigint) = w.lock_key WHERE w.id = $1`,
    [id],
  );
  return rows.map(({ pid }) => pid);
}

async function rowOf({ id }: WorkerProcess): Promise<unknown> {
  const { rows } = await spine.pool.query(
    `SELECT stopped_at IS NOT NULL AS stopped, seen_gone_at AS gone, pipelines FROM workers WHERE id = $1`,
    [id],
  );
  return rows[0];
}

describe('the presence of a worker', () => {
  it('is a row and a lock until the worker signs off', async () => {
    const { worker, presence } = await present();
    expect(await rowOf(worker)).toEqual({ stopped: false, gone: null, pipelines: ['canary'] });
    expect(await holders(worker)).toHaveLength(1);

    await presence.retire();

    expect(await rowOf(worker)).toMatchObject({ stopped: true });
    await until('the lock is free', async () => (await holders(worker)).length === 0);
  });

  it('comes back by itself when the server ends its session, and takes back a verdict of death', async () => {
    const { worker, story } = await present();
    const [pid] = await holders(worker);
    await spine.pool.query('UPDATE workers SET seen_gone_at = now(), died_at = now() WHERE id = $1', [worker.id]);

    await spine.pool.query('SELECT pg_terminate_backend($1)', [pid]);

    await until('it is held again', () => story.length === 2);
    expect(story).toEqual(['lost', 'held']);
    expect(await holders(worker)).not.toContain(pid);
    expect(await rowOf(worker)).toMatchObject({ gone: null });
  });

  it('tries until the database is there again', async () => {
    const { worker, proxy, story } = await present();
    proxy.cut();
    await until('it is lost', () => story.includes('lost'));
    await until('the lock is free', async () => (await holders(worker)).length === 0);

    proxy.heal();

    await until('it is held again', () => story.includes('held'));
    expect(await holders(worker)).toHaveLength(1);
  });

  it('notices a half-open link', async () => {
    const { worker, proxy, story } = await present();
    const [old] = await holders(worker);
    proxy.stall();
    await until('it is lost', () => story.includes('lost'));
    // The server was not told, and still holds the old session.
    expect(await holders(worker)).toContain(old);

    proxy.heal();

    await until('it is held again', () => story.includes('held'));
    expect((await holders(worker)).filter((pid) => pid !== old)).toHaveLength(1);
  });

  it('does not wait for the lock that its old session still holds', async () => {
    const { worker } = await present();
    const session = await openSession({ url: spine.url, name: 'again' });
    onTestFinished(session.close);

    await lockWorker(session, worker.id);

    expect(await holders(worker)).toHaveLength(2);
  });

  it('does not register again once it has signed off while the database was away', async () => {
    const { worker, presence, proxy, story } = await present();
    proxy.cut();
    await until('it is lost', () => story.includes('lost'));

    await presence.retire();
    proxy.heal();

    expect(await rowOf(worker)).toMatchObject({ stopped: true });
    expect(story).toEqual(['lost']);
  });
});
