import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSweep } from '../../../../src/activities/maintenance/sweep.js';
import type { Reason } from '../../../../src/core/diagnosis.js';
import { submission } from '../../../../src/domains/submission/table.js';
import { ADMIN, type TestApi, VIEWER } from '../../../api/setup.js';
import { until } from '../../../support/until.js';
import { openSubmissionApi } from '../support/api.js';
import { makeSubmission } from '../support/submissions.js';

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('TRUNCATE items, holds, breakers, workers CASCADE');
  Object.assign(api.engine, {
    queueStatus: A_WORKER,
    status: { is: 'alive', wedgedBy: null },
    isIndexed: true,
    isIndexAway: false,
    mood: 'well',
    lookedUp: [],
    described: 0,
  });
});

const A_WORKER = { pollers: [{ identity: 'w', seenAt: new Date() }], backlog: 3, oldestMs: null };
const NO_WORKER = { ...A_WORKER, pollers: [] };

/** Silent for twenty minutes and a half, so that no age changes its words while the test runs. */
const SILENT = 1_230;

interface Said {
  reason: Reason;
  sentence: string;
  nextAction?: string;
  nextAt: string | null;
}

interface Everywhere {
  page: Said;
  listed: Said;
  stuck: Said | undefined;
}

async function ask(id: string): Promise<Everywhere> {
  const page = (await get(`/api/v1/items/${id}`))['diagnosis'] as Said;
  const { items } = (await get('/api/v1/items?pipeline=submission')) as { items: { id: string; diagnosis: Said }[] };
  const { stuck } = (await get('/api/v1/admin/queue/status')) as {
    stuck: { items: { id: string; diagnosis: Said }[] };
  };
  const all = (await get('/api/v1/stuck?pipeline=submission')) as { items: { id: string; diagnosis: Said }[] };
  const [listed] = items.filter((each) => each.id === id);
  if (!listed) throw new Error(`${id} is not in the list`);
  const [inQueue, inAll] = [stuck, all].map((list) => list.items.find((each) => each.id === id)?.diagnosis);
  expect(inAll).toEqual(inQueue);
  return { page, listed: listed.diagnosis, stuck: inQueue };
}

async function get(url: string): Promise<Record<string, unknown>> {
  const response = await api.call({ url, as: VIEWER });
  expect(response.statusCode).toBe(200);
  return response.json();
}

async function sweep(): Promise<void> {
  const { sweepPage } = createSweep({
    pool: api.database.pool,
    engine: api.engine,
    pipelines: { submission },
    logger: pino({ level: 'silent' }),
    rescuesPerSecond: 1_000,
  });
  await sweepPage({ pipeline: 'submission', startedAt: new Date().toISOString(), rescuesLeft: 0 });
}

async function silent(): Promise<string> {
  const id = await makeSubmission(api.database.pool, { state: 'TIER2_SCANNING', createdAgo: SILENT });
  await api.database.pool.query('UPDATE items SET updated_at = beat_at WHERE id = $1', [id]);
  return id;
}

/** Silent inside its stage. */
async function atWork(worker?: { seenGone: boolean }): Promise<string> {
  const id = await silent();
  await addTask(id, 'running');
  const seenGoneAt = worker?.seenGone ? new Date(Date.now() - 1_000 * SILENT) : null;
  if (worker) {
    await api.database.pool.query(
      `INSERT INTO workers (id, name, host, pid, build, pipelines, seen_at, seen_gone_at)
       VALUES ('w1', 'worker-1', 'h', 1, 'b', '{submission}', now() - interval '20 minutes', $1)`,
      [seenGoneAt],
    );
  }
  return id;
}

/** Its next try has been due for as long as it is silent. */
async function failed(): Promise<string> {
  const id = await silent();
  await addTask(id, 'waiting');
  return id;
}

async function addTask(id: string, status: 'running' | 'waiting'): Promise<void> {
  await api.database.pool.query(
    `INSERT INTO tasks (item_id, visit, stage, status, attempt, worker, started_at, beat_at, retry_at, error_class, error_message)
     SELECT id, 1, 'judgeTier2', $2, 1, 'w1', beat_at, beat_at, CASE $2 WHEN 'waiting' THEN beat_at END,
       CASE $2 WHEN 'waiting' THEN 'LLM_ERROR' END, 'no answer' FROM items WHERE id = $1`,
    [id, status],
  );
}

async function openBreaker(): Promise<void> {
  const { pool } = api.database;
  await pool.query(
    `INSERT INTO breakers (pipeline, class, state, stages, reason, next_pass_at, probe_every_ms)
     VALUES ('submission', 'LLM_ERROR', 'open', '{judgeTier2}', 'storm', now() + interval '1 minute', 1000)`,
  );
  await pool.query(
    `INSERT INTO holds (pipeline, kind, key, until, reason, set_by)
     VALUES ('submission', 'breaker', 'LLM_ERROR', 'infinity', 'storm', 'system')`,
  );
}

interface Situation {
  reason: Reason;
  make(): Promise<string>;
}

const SITUATIONS: Record<string, Situation> = {
  'waits in a backlog': { reason: 'backlog', make: silent },
  'has a run that was terminated': {
    reason: 'workflow_closed',
    make: () => {
      api.engine.status = { is: 'gone', how: 'terminated' };
      return silent();
    },
  },
  'has a run that was terminated while its worker was dead': {
    reason: 'workflow_closed',
    make: () => {
      api.engine.status = { is: 'gone', how: 'terminated' };
      return atWork({ seenGone: true });
    },
  },
  'has a run that was terminated before its next try': {
    reason: 'workflow_closed',
    make: () => {
      api.engine.status = { is: 'gone', how: 'terminated' };
      return failed();
    },
  },
  'has a run that Temporal lost': {
    reason: 'workflow_closed',
    make: () => {
      api.engine.status = { is: 'gone', how: 'never_existed' };
      return silent();
    },
  },
  'has a run that said that it ended': {
    reason: 'workflow_closed',
    make: async () => {
      const id = await makeSubmission(api.database.pool, { state: 'TIER2_SCANNING' });
      const text = `UPDATE items SET run_ended_at = now() - interval '150 seconds' WHERE id = $1`;
      await api.database.pool.query(text, [id]);
      return id;
    },
  },
  'has a run that said that it ended, and no worker': {
    reason: 'no_worker',
    make: async () => {
      api.engine.queueStatus = NO_WORKER;
      const id = await silent();
      await api.database.pool.query('UPDATE items SET run_ended_at = beat_at WHERE id = $1', [id]);
      return id;
    },
  },
  'is inside a stage of a worker that is silent': { reason: 'silent_worker', make: () => atWork({ seenGone: false }) },
  'is inside a stage of a worker that died': { reason: 'worker_died', make: () => atWork({ seenGone: true }) },
  'is inside a stage, and no worker is left': {
    reason: 'no_worker',
    make: () => {
      api.engine.queueStatus = NO_WORKER;
      return atWork({ seenGone: true });
    },
  },
  'is tried again': { reason: 'retrying', make: failed },
  'is tried again, but no worker is left': {
    reason: 'no_worker',
    make: () => {
      api.engine.queueStatus = NO_WORKER;
      return failed();
    },
  },
  'waits for a breaker': {
    reason: 'breaker_open',
    make: async () => {
      await openBreaker();
      return failed();
    },
  },
  'waits for a breaker, but no worker is left': {
    reason: 'no_worker',
    make: async () => {
      api.engine.queueStatus = NO_WORKER;
      await openBreaker();
      return failed();
    },
  },
  'waits as a suspect, but no worker is left': {
    reason: 'no_worker',
    make: async () => {
      api.engine.queueStatus = NO_WORKER;
      const id = await failed();
      await api.database.pool.query(
        'UPDATE tasks SET crashes = 2, place_asked_at = now(), retry_at = NULL WHERE item_id = $1',
        [id],
      );
      return id;
    },
  },
  'has a wedged run that a sweep has seen': {
    reason: 'wedged',
    make: async () => {
      api.engine.status = { is: 'alive', wedgedBy: 'Nondeterminism error' };
      const id = await silent();
      await sweep();
      return id;
    },
  },
};

describe('an item', () => {
  it.each(Object.entries(SITUATIONS))(
    'that %s has one sentence on its page, in the list and in the stuck list',
    async (_, { reason, make }) => {
      const { page, listed, stuck } = await ask(await make());

      expect(page.reason).toBe(reason);
      expect(listed).toEqual({ reason, sentence: page.sentence, nextAt: page.nextAt });
      const { nextAction } = page;
      expect(stuck).toEqual({ ...listed, nextAction });
    },
  );

  it('of a pipeline whose sweeps a person has stopped is said to be rescued neither on its page nor in the stuck list', async () => {
    api.engine.status = { is: 'gone', how: 'terminated' };
    const { schedules } = api;
    const [row] = schedules.rows;
    if (row?.sweeps == null || !schedules.status) throw new Error('the first schedule sweeps nothing');
    schedules.rows = [{ ...row, id: 'sweep-submission', sweeps: 'submission' }];
    schedules.status = { ...schedules.status, paused: { why: 'too loud' } };

    const { page, stuck } = await ask(await silent());

    expect(page.nextAction).toMatch(/sweep-submission is paused \(too loud\)/);
    expect(stuck?.nextAction).toBe(page.nextAction);
  });

  it('has one sentence while Temporal is away, and every list is marked', async () => {
    const id = await silent();
    api.engine.mood = 'away';
    const isNoticed = async () => (await get('/api/v1/items'))['degraded'] === true;
    // Whether Temporal answers is asked every few seconds at most.
    await until('the API notices', isNoticed);

    const { page, listed, stuck } = await ask(id);
    const { sentence, nextAt, nextAction } = page;
    expect(listed).toEqual({ reason: 'engine_unreachable', sentence, nextAt });
    expect(stuck).toEqual({ ...listed, nextAction });
    for (const list of ['items', 'stuck', 'submissions', 'submissions/positions', 'pipelines']) {
      expect(await get(`/api/v1/${list}`)).toMatchObject({ degraded: true });
    }
    api.engine.mood = 'well';
    await until('the API notices that it is back', async () => !(await isNoticed()));
  });
});

describe('a run that the search index does not list', () => {
  it('is asked about by itself while it may be too young for the index, so that the list says what the page says', async () => {
    api.engine.isIndexed = false;
    const id = await makeSubmission(api.database.pool, { state: 'TIER2_SCANNING', createdAgo: 10 });

    const { page, listed } = await ask(id);

    expect(listed).toMatchObject({ reason: 'backlog', sentence: expect.stringMatching(/its run is alive/) as string });
    expect(listed.reason).toBe(page.reason);
  });

  it('is said to be lost by lists too, if Temporal knows no run of an item that has just been changed', async () => {
    api.engine.status = { is: 'gone', how: 'never_existed' };
    const id = await silent();
    await api.database.pool.query(
      'UPDATE items SET updated_at = now(), started = false, accepted_at = now(), start_after = now() WHERE id = $1',
      [id],
    );

    const { page, listed, stuck } = await ask(id);

    expect([page.reason, listed.reason, stuck?.reason]).toEqual(['start_lost', 'start_lost', 'start_lost']);
  });

  it('is not asked about where a list has many of them, and then it is not known whether it is alive', async () => {
    api.engine.isIndexed = false;
    await Promise.all(Array.from({ length: 30 }, silent));
    await api.database.pool.query('UPDATE items SET updated_at = now()');

    const { items } = (await get('/api/v1/items?pipeline=submission')) as { items: { diagnosis: Said }[] };

    expect(api.engine.described).toBe(10);
    const unknown = items.filter(({ diagnosis }) =>
      diagnosis.sentence.includes('Temporal has not said whether its run is alive'),
    );
    expect([items.length, unknown.length]).toEqual([30, 20]);
    expect(items.every(({ diagnosis }) => diagnosis.reason === 'backlog')).toBe(true);
  });

  it('is not said to be out of reach while only the search index does not answer', async () => {
    api.engine.isIndexAway = true;
    const { listed } = await ask(await silent());
    expect(listed).toMatchObject({
      reason: 'backlog',
      sentence: expect.stringContaining('Temporal has not said whether its run is alive') as string,
    });
  });
});

describe('a page of a list', () => {
  it('asks Temporal once about all runs in doubt, and describes none', async () => {
    const { pool } = api.database;
    const ids = await Promise.all(Array.from({ length: 60 }, silent));
    await makeSubmission(pool, { state: 'NEEDS_REVIEW', createdAgo: SILENT });
    await makeSubmission(pool, { state: 'TIER1_SCANNING' });

    await get('/api/v1/items?pipeline=submission&limit=100');

    expect(api.engine.described).toBe(0);
    expect(api.engine.lookedUp.map((runs) => runs.map((run) => run.itemId).sort())).toEqual([ids.toSorted()]);
  });

  it('asks nothing if the rows tell every reason', async () => {
    await makeSubmission(api.database.pool, { state: 'NEEDS_REVIEW', createdAgo: SILENT });
    await get('/api/v1/items?pipeline=submission');
    expect(api.engine.lookedUp).toEqual([]);
  });

  it.each(['items', 'stuck'])(
    'filters %s by the reason that the sweep found, as long as the item does not move',
    async (list) => {
      api.engine.status = { is: 'alive', wedgedBy: 'Nondeterminism error' };
      const [wedged, other] = [await silent(), await silent()];
      const url = `/api/v1/${list}?pipeline=submission&reason=wedged`;
      expect(await get(url)).toMatchObject({ items: [] });
      await sweep();
      await api.database.pool.query('UPDATE items SET beat_at = now() WHERE id = $1', [other]);

      expect(await get(url)).toMatchObject({
        items: [{ id: wedged, diagnosis: { reason: 'wedged' }, swept: { reason: 'wedged' } }],
      });
      expect((await api.call({ method: 'POST', url: `/api/v1/items/${wedged}/retry`, as: ADMIN })).statusCode).toBe(
        200,
      );
      expect(await get(url)).toMatchObject({ items: [] });
    },
  );
});
