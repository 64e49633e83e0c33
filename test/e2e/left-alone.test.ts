import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attemptsOf, effectsOf, itemOf, tasksOf } from '../support/facts.js';
import { type Installation, startInstallation } from '../support/installation.js';
import { until } from '../support/until.js';
import { beatsOf } from './beats.js';
import { type Caller, callerOf } from './caller.js';

/** Far enough above a busy machine's hiccups that a fifth of it is one second. */
const BEATS_MS = 5_000;
const SLOW_MS = 0.8 * BEATS_MS;

/** How often each of the two workers is slowed. */
const TIMES = 3;

const SWEEP_MS = 3_000;
/** Below the slow beat: sweeps look at every one of these items, and it is they who leave it. */
const STUCK_MS = 3_000;

/** Far more than the two slots there are. */
const WAITING = 30;

const SETTINGS = {
  CANARY_BEATS: `${String(BEATS_MS)}ms`,
  CANARY_SWEEP_EVERY: `${String(SWEEP_MS)}ms`,
  CANARY_STALE_AFTER: '2s',
  CANARY_STUCK_AFTER: `${String(STUCK_MS)}ms`,
  WORKER_MAX_ACTIVITIES: '1',
  NODE_OPTIONS: `--import ${new URL('../support/block-on-signal.mjs', import.meta.url).href}`,
  BLOCKED_FOR_MS: String(SLOW_MS),
};

let installation: Installation;
let connection: Connection;
let admin: Caller;
beforeAll(async () => {
  installation = await startInstallation(SETTINGS);
  connection = await Connection.connect({ address: installation.temporalAddress });
  admin = await callerOf(installation, 'root', ['admin']);
}, 180_000);
afterAll(async () => {
  await connection.close();
  await installation.stop();
});

/** The worker that runs the item's stage now; null: none. */
async function workerOf(id: string): Promise<'worker-1' | 'worker-2' | null> {
  const { rows } = await installation.pool.query<{ name: 'worker-1' | 'worker-2' }>(
    `SELECT w.name FROM tasks t JOIN workers w ON w.id = t.worker
     WHERE t.item_id = $1 AND t.stage = 'second' AND t.status = 'running'`,
    [id],
  );
  return rows[0]?.name ?? null;
}

/** Sweeps that ended well; those that found nothing share a row, which counts them. */
async function sweepsDone(): Promise<number> {
  const { rows } = await installation.pool.query<{ n: number }>(
    `SELECT COALESCE(sum(runs), 0)::int AS n FROM job_executions WHERE job = 'sweep-canary' AND status = 'completed'`,
  );
  return rows[0]?.n ?? 0;
}

async function sweepsMore(count: number): Promise<void> {
  const before = await sweepsDone();
  await until(`${String(count)} more sweeps are done`, async () => (await sweepsDone()) >= before + count || null);
}

async function examined(ids: readonly string[]): Promise<number> {
  const { rows } = await installation.pool.query<{ n: number }>(
    'SELECT count(examined_at)::int AS n FROM items WHERE id = ANY ($1::uuid[])',
    [ids],
  );
  return rows[0]?.n ?? 0;
}

/** Slows the worker of an item right after each beat, so that the next comes late, and says how late each was. */
async function slowDown(id: string, slow: (pid: number, since: number) => Promise<void>): Promise<number[]> {
  const name = await until('it runs', () => workerOf(id));
  const beats = beatsOf(new Client({ connection }), id);
  const gaps: number[] = [];
  let last = await beats.next();
  for (let n = 0; n < TIMES; n += 1) {
    await slow(installation.pidOf(name), last);
    const next = await beats.next();
    gaps.push(next - last);
    last = next;
  }
  return gaps;
}

async function freeze(pid: number, since: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await until('it has been still for long enough', () => Date.now() - since >= SLOW_MS);
  process.kill(pid, 'SIGCONT');
}

async function block(pid: number): Promise<void> {
  process.kill(pid, 'SIGUSR2');
  await Promise.resolve();
}

async function reasonsOf(ids: readonly string[]): Promise<Set<string | undefined>> {
  const answers = await Promise.all(ids.map((id) => admin.get(`/api/v1/items/${id}`)));
  return new Set(answers.map(({ body }) => body.diagnosis?.reason));
}

const PATH = '/api/v1/pipelines/canary';

describe('what is slow, waits or is held, and lives', () => {
  it('is looked at by sweep after sweep and left alone, until all is done', async () => {
    const frozen = await admin.submit({ stageMs: [0, 20_000, 0] });
    const blocked = await admin.submit({ stageMs: [0, 20_000, 0] });
    for (const id of [frozen, blocked]) await until('its second stage runs', () => workerOf(id));
    const waiting = await Promise.all(Array.from({ length: WAITING }, () => admin.submit({})));
    const held = await admin.submit({});
    expect((await admin.post(`/api/v1/items/${held}/pause`, { for: '1h', reason: 'a look' })).status).toBe(200);
    const all = [frozen, blocked, held, ...waiting];
    const before = await sweepsDone();

    const gaps = await Promise.all([slowDown(frozen, freeze), slowDown(blocked, block)]);

    const between = (await sweepsDone()) - before;
    for (const gap of gaps.flat()) expect(gap).toBeGreaterThanOrEqual(SLOW_MS);
    expect(between).toBeGreaterThanOrEqual(2);
    // They were silent for long enough to be taken for stuck, and a sweep asked about each.
    expect(await examined([frozen, blocked, ...waiting])).toBe(WAITING + 2);
    expect(await reasonsOf([frozen, blocked])).toEqual(new Set(['running']));
    expect(await reasonsOf(waiting)).toEqual(new Set(['backlog']));
    expect(await reasonsOf([held])).toEqual(new Set(['paused']));

    expect((await admin.post(`${PATH}/pause`, { for: '1h', reason: 'a look at all' })).status).toBe(200);
    expect(await reasonsOf(waiting)).toEqual(new Set(['paused']));
    await sweepsMore(3);
    expect(await reasonsOf([held, ...waiting])).toEqual(new Set(['paused']));
    expect((await admin.post(`${PATH}/resume`, {})).status).toBe(200);
    expect((await admin.post(`/api/v1/items/${held}/resume`, {})).status).toBe(200);
    await Promise.all(all.map((id) => admin.reaches(id, 'DONE', 90_000)));

    console.log(`beats came after ${gaps.flat().map(Math.round).join(', ')} ms; ${String(await sweepsDone())} sweeps`);
    for (const id of all) {
      expect(await itemOf(installation.pool, id)).toMatchObject({ epoch: 1, rescues: 0 });
      expect(await attemptsOf(installation.pool, id)).toEqual(['first done', 'second done', 'third done']);
      expect(await effectsOf(installation.pool, id)).toEqual(['1 first', '1 second', '1 third']);
      for (const task of await tasksOf(installation.pool, id)) expect(task).toMatchObject({ attempt: 1, crashes: 0 });
    }
    const { rows } = await installation.pool.query(
      `SELECT (SELECT count(*)::int FROM receipts) AS receipts, (SELECT count(*)::int FROM audit WHERE trigger = 'rescue') AS rescues,
         (SELECT count(*)::int FROM workers WHERE deaths > 0 OR seen_gone_at IS NOT NULL) AS dead`,
    );
    expect(rows).toEqual([{ receipts: 0, rescues: 0, dead: 0 }]);
  }, 180_000);
});
