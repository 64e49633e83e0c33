import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../../src/config.js';
import type { Claimed } from '../../../src/db/spine/attempt.js';
import { beatTask, keepCheckpoint } from '../../../src/db/spine/beat.js';
import { claimAgain } from '../../../src/db/spine/claim/claim-again.js';
import { claimTask } from '../../../src/db/spine/claim/claim.js';
import { createPool } from '../../../src/db/postgres/client.js';
import { cancelItem, rescueItem } from '../../../src/db/spine/control.js';
import { migrate } from '../../../src/db/postgres/migrate.js';
import { rereadAttempt } from '../../../src/db/spine/reread.js';
import { type RunningPostgres, startPostgres } from '../../../src/start/embedded/embedded-postgres.js';
import { effectsOf, taskOf, trailFaults } from '../../support/facts.js';
import { freePort } from '../../support/free-port.js';
import { byHand, FAILURE, findIn, ROOT, type Where } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

/** A server that keeps writes in memory as long as nobody waits for them. */
const SETTINGS = { wal_writer_delay: '10s', fsync: 'off' };

let options: Parameters<typeof startPostgres>[0];
let server: RunningPostgres;
let pool: pg.Pool;

beforeAll(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'unstuck-test-'));
  options = { dataDir, port: await freePort(), log: () => undefined, settings: SETTINGS };
  server = await startPostgres(options);
  await migrate(server.url, `${projectRoot}/prisma/migrations`);
  pool = createPool({ url: server.url, size: 2, name: 'worker' });
});
afterAll(async () => {
  await pool.end();
  await server.stop();
  rmSync(options.dataDir, { recursive: true, force: true });
});

const hand = () => byHand(pool, straight);

describe('a claim that the database lost in a crash', () => {
  it('is made again by its attempt, which goes on under the same number', async () => {
    const lost = await loseClaim();
    expect(await beatTask(pool, lost, null)).toBe(false);
    expect(await hand().finish(lost)).toBe('superseded');

    expect(await claimAgain(pool, straight, lost)).toBe(true);

    expect(await beatTask(pool, lost, null)).toBe(true);
    expect(await keepCheckpoint(pool, lost, 1)).toBe(true);
    expect(await hand().finish(lost)).toHaveProperty('do');
    expect(await effectsOf(pool, lost.itemId)).toHaveLength(1);
    expect(await taskOf(pool, lost.itemId, lost.stage)).toMatchObject({ attempt: 1, crashes: 0 });
    expect(await trailFaults(pool, lost.itemId)).toEqual([]);
  });

  it('is made again for a beat and a commit that both found it gone', async () => {
    const lost = await loseClaim();
    const both = [beatTask(pool, lost, null), hand().finish(lost)];
    expect(await Promise.all(both)).toEqual([false, 'superseded']);

    expect(await claimAgain(pool, straight, lost)).toBe(true);
    expect(await claimAgain(pool, straight, lost)).toBe(true);

    expect(await hand().finish(lost)).toHaveProperty('do');
    expect(await claimAgain(pool, straight, lost)).toBe(false);
    expect(await taskOf(pool, lost.itemId, lost.stage)).toMatchObject({ attempt: 1, crashes: 0 });
    expect(await effectsOf(pool, lost.itemId)).toHaveLength(1);
  });

  it('is not made again for a beat that looked before its attempt ended, and asks after', async () => {
    const lost = await loseClaim();
    expect(await claimAgain(pool, straight, lost)).toBe(true);
    await hand().commit(lost, { is: 'error', error: FAILURE, retryInMs: 10 });

    expect(await claimTask(pool, straight, lost)).toMatchObject({ is: 'hold' });
    expect(await taskOf(pool, lost.itemId, lost.stage)).toMatchObject({ status: 'waiting', errors: 1 });
  });

  it('is not made again in an item that was cancelled meanwhile', async () => {
    const lost = await loseClaim();
    await cancelItem(pool, findIn(straight), { itemId: lost.itemId, actor: ROOT });

    expect(await claimAgain(pool, straight, lost)).toBe(false);
    expect(await hand().finish(lost)).toBe('superseded');
  });

  it('ends nothing once another attempt has claimed the task, though both have the same fence', async () => {
    const lost = await loseClaim();
    const next = await hand().claimed(lost.itemId, { worker: 'after the crash' });
    expect(next.fence).toBe(lost.fence);

    expect(await claimAgain(pool, straight, lost)).toBe(false);
    expect(await beatTask(pool, lost, null)).toBe(false);
    expect(await keepCheckpoint(pool, lost, 1)).toBe(false);
    expect(await rereadAttempt(pool, lost)).toBe('superseded');
    expect(await hand().finish(lost)).toBe('superseded');

    expect(await hand().finish(next)).toHaveProperty('do');
    expect(await effectsOf(pool, next.itemId)).toHaveLength(1);
    expect(await trailFaults(pool, next.itemId)).toEqual([]);
  });
});

describe('a write of an attempt', () => {
  it.each<[to: string, isWaitedFor: boolean, prepare: () => Promise<() => Promise<unknown>>]>([
    ['a first claim', false, claiming],
    ['a claim of what was handed out before', true, () => claiming({ isRetried: true })],
    ['a claim of a rescued item', true, async () => claiming({}, await rescued())],
    ['a beat', false, async () => writing(await started(), (claimed) => beatTask(pool, claimed, null))],
    ['a checkpoint', false, async () => writing(await started(), (claimed) => keepCheckpoint(pool, claimed, 1))],
    ['a commit', true, async () => writing(await started(), (claimed) => hand().finish(claimed))],
  ])('as %s is on disk before it is answered: %s', async (_, isWaitedFor, prepare) => {
    const write = await prepare();
    // Waited for, and with it all that came before.
    await hand().make();
    expect(await isAllWritten()).toBe(true);

    await write();

    expect(await isAllWritten()).toBe(isWaitedFor);
  });
});

async function claiming(where: Where = {}, id?: string): Promise<() => Promise<unknown>> {
  const attempt = await hand().attempt(id ?? (await hand().make()), where);
  return async () => {
    expect(await claimTask(pool, straight, attempt)).toMatchObject({ is: 'run' });
  };
}

async function started(): Promise<Claimed> {
  return hand().claimed(await hand().make());
}

function writing(claimed: Claimed, write: (claimed: Claimed) => Promise<unknown>): () => Promise<unknown> {
  return async () => {
    expect(await write(claimed)).toBeTruthy();
  };
}

async function isAllWritten(): Promise<boolean> {
  const { rows } = await pool.query<{ is: boolean }>(
    'SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() AS is',
  );
  return rows[0]?.is ?? false;
}

/** Its log writer may come by in between, once in ten seconds. */
const CRASHES = 3;

async function loseClaim(): Promise<Claimed> {
  for (let crashes = 0; crashes < CRASHES; crashes += 1) {
    const lost = await hand().claimed(await hand().make(), { worker: 'before the crash' });
    server.kill();
    await server.exited;
    server = await startPostgres(options);
    if ((await rereadAttempt(pool, lost)) === 'claim_lost') return lost;
  }
  throw new Error('every claim outlived its crash');
}

async function rescued(): Promise<string> {
  const id = await hand().make();
  await rescueItem(pool, findIn(straight), { itemId: id, actor: ROOT, seen: 1 });
  return id;
}
