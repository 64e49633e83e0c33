import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readWorkersSeen } from '../../../src/db/reads/figures.js';
import { createPrisma } from '../../../src/db/postgres/prisma.js';
import { ENGINE_KEEPS, removeBatch } from '../../../src/db/recovery/retention.js';
import { KEPT } from '../../support/maintenance.js';
import { byHand, openSpine, type Spine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

const DAY_MS = 86_400_000;

let spine: Spine;
beforeAll(async () => {
  spine = await openSpine();
});
afterAll(() => spine.close());

type Make = (daysAgo: number) => Promise<unknown>;

const ago = (daysAgo: number): Date => new Date(Date.now() - daysAgo * DAY_MS);

const insert = {
  jobExecutions: (daysAgo) => job(daysAgo, 'completed'),
  outbox: (daysAgo) => event(daysAgo, 'delivered_at'),
  receipts: (daysAgo) =>
    spine.pool.query(
      `INSERT INTO receipts (item_id, pipeline, state, visit, epoch, reason, sentence, last_sign_at, seen_at, acted_at, actor, actor_type)
       VALUES ($1, 'straight', 'READING', 1, 2, 'worker_died', 's', $2, $2, $2, 'system', 'system')`,
      [randomUUID(), ago(daysAgo)],
    ),
  idempotencyKeys: (daysAgo) =>
    spine.pool.query(
      `INSERT INTO idempotency_keys (caller, route, key, body_hash, status, answer, created_at) VALUES ('a', 'r', $1, '', 202, '{}', $2)`,
      [randomUUID(), ago(daysAgo)],
    ),
  jobCursors: (daysAgo) =>
    spine.pool.query(
      `INSERT INTO job_cursors (job, join_key, input, cursor, stored_at) VALUES ('j', $1, '{}', '1', $2)`,
      [randomUUID(), ago(daysAgo)],
    ),
  workers: (daysAgo) => worker(daysAgo, 'stopped_at'),
  hourlyMetrics: (daysAgo) => figure(daysAgo, 'hour'),
  dailyMetrics: (daysAgo) => figure(daysAgo, 'day'),
} satisfies Record<string, Make>;

const TABLES = {
  jobExecutions: 'job_executions',
  jobCursors: 'job_cursors',
  outbox: 'outbox',
  receipts: 'receipts',
  idempotencyKeys: 'idempotency_keys',
  workers: 'workers',
  hourlyMetrics: `figures WHERE span = 'hour'`,
  dailyMetrics: `figures WHERE span = 'day'`,
} as const;

function job(daysAgo: number, status: string): Promise<unknown> {
  return spine.pool.query(
    `INSERT INTO job_executions (job, status, started_at, timeout_at, ended_at) VALUES ('j', $1, $2, $2, CASE WHEN $1 <> 'running' THEN $2::timestamptz END)`,
    [status, ago(daysAgo)],
  );
}

function figure(daysAgo: number, span: string): Promise<unknown> {
  return spine.pool.query(
    `INSERT INTO figures (span, at, pipeline, kind, stage, outcome, class, count, sum_ms, buckets)
     VALUES ($1, $2, 'straight', 'end', '', $3, '', 1, 0, '{}')`,
    [span, ago(daysAgo), randomUUID()],
  );
}

async function event(daysAgo: number, settled: 'delivered_at' | 'failed_at' | null): Promise<string> {
  const id = randomUUID();
  await spine.pool.query(
    `INSERT INTO outbox (id, kind, sentence, created_at, routed_at) VALUES ($1, 'no_worker', 's', $2, $2)`,
    [id, ago(daysAgo)],
  );
  await spine.pool.query(
    `INSERT INTO deliveries (event_id, channel ${settled ? `, ${settled}` : ''}) VALUES ($1, 'mail' ${settled ? ', now()' : ''})`,
    [id],
  );
  return id;
}

async function worker(daysAgo: number, gone: 'stopped_at' | 'died_at' | null, id: string = randomUUID()) {
  await spine.pool.query(
    `INSERT INTO workers (id, name, host, pid, build, pipelines, seen_at ${gone ? `, ${gone}` : ''})
     VALUES ($1, 'w', 'h', 1, 'b', '{}', $2 ${gone ? ', $2' : ''})`,
    [id, ago(daysAgo)],
  );
}

async function count(table: string): Promise<number> {
  const { rows } = await spine.pool.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
  return rows[0]?.count ?? -1;
}

async function retainAll(name: string): Promise<number> {
  const part = ENGINE_KEEPS.find((each) => each.name === name);
  if (!part) throw new RangeError(`no part '${name}' of retention`);
  let total = 0;
  for (;;) {
    const count = await removeBatch(spine.limited, part, part.keptMs(KEPT), 2);
    total += count;
    if (count < 2) return total;
  }
}

const LIMIT_DAYS = {
  jobExecutions: 30,
  jobCursors: 30,
  outbox: 30,
  receipts: 90,
  idempotencyKeys: 1,
  workers: 7,
  // An hour or a day is kept for that long after it is over.
  hourlyMetrics: 2 + 1 / 24,
  dailyMetrics: 801,
} as const;

describe('retention', () => {
  it.each(Object.keys(LIMIT_DAYS) as (keyof typeof LIMIT_DAYS)[])(
    'deletes %s that are old enough, batch by batch, and no other',
    async (step) => {
      const days = LIMIT_DAYS[step];
      for (let n = 0; n < 5; n += 1) await insert[step](days + 0.1);
      for (let n = 0; n < 3; n += 1) await insert[step](days - 0.1);

      expect(await retainAll(step)).toBe(5);
      expect(await count(TABLES[step])).toBe(3);
      expect(await retainAll(step)).toBe(0);
    },
  );

  it('has a part for everything of the engine that grows', () => {
    const names = ENGINE_KEEPS.map(({ name }) => name);
    expect(names.sort()).toEqual(Object.keys(LIMIT_DAYS).sort());
  });

  it('keeps an execution that is still running, however old', async () => {
    const before = await count('job_executions');
    await job(400, 'running');
    await retainAll('jobExecutions');
    expect(await count('job_executions')).toBe(before + 1);
  });

  it('keeps an event on its way, and deletes one that was given up, with its deliveries', async () => {
    const [onItsWay, givenUp] = [await event(40, null), await event(40, 'failed_at')];
    expect(await retainAll('outbox')).toBe(1);
    const { rows } = await spine.pool.query('SELECT event_id FROM deliveries WHERE event_id = ANY ($1)', [
      [onItsWay, givenUp],
    ]);
    expect(rows).toEqual([{ event_id: onItsWay }]);
  });

  it('keeps an event that nobody has routed yet', async () => {
    const id = await event(40, 'delivered_at');
    await spine.pool.query('UPDATE outbox SET routed_at = NULL WHERE id = $1', [id]);
    expect(await retainAll('outbox')).toBe(0);
  });

  it('keeps counting the deaths of workers that it deletes', async () => {
    const prisma = createPrisma(spine.limited);
    await worker(8, 'died_at', 'killed-twice');
    await spine.pool.query(`UPDATE workers SET deaths = 2 WHERE id = 'killed-twice'`);
    const before = await readWorkersSeen(prisma);
    expect(before.deaths).toBeGreaterThanOrEqual(2);
    expect(await retainAll('workers')).toBe(1);
    expect(await readWorkersSeen(prisma)).toMatchObject({ registered: before.registered - 1, deaths: before.deaths });
    await prisma.$disconnect();
  });

  it('keeps a worker that is there, or that a running task still names', async () => {
    const hand = byHand(spine.pool, straight);
    await hand.claimed(await hand.make(), { worker: 'named' });
    await worker(8, 'died_at', 'named');
    await worker(8, null, 'silent');
    await worker(8, 'died_at', 'forgotten');
    expect(await retainAll('workers')).toBe(1);
    const { rows } = await spine.pool.query(
      `SELECT id FROM workers WHERE id IN ('named', 'silent', 'forgotten') ORDER BY id`,
    );
    expect(rows).toEqual([{ id: 'named' }, { id: 'silent' }]);
  });
});
