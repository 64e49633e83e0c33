import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { jobQueueOf } from '../../../src/core/jobs.js';
import { createPool } from '../../../src/db/postgres/client.js';
import { claimTask } from '../../../src/db/spine/claim/claim.js';
import { holdPresence } from '../../../src/db/recovery/hold-presence.js';
import { canary } from '../../../src/domains/canary/table.js';
import { DOMAINS } from '../../../src/domains/domains.js';
import { byHand } from '../../support/spine.js';
import { ADMIN, openApi, REVIEWER, submit, type TestApi, VIEWER } from '../setup.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi({ pipelines: { canary } });
});
afterAll(() => api.close());
beforeEach(async () => {
  api.engine.mood = 'well';
  await api.database.pool.query('DELETE FROM workers');
});

interface Listed {
  workers: { id: string; state: string; holdsLock: boolean; runningTasks: number; diedAt: string | null }[];
  queues: {
    name: string;
    pollers: unknown[] | null;
    backlog: number | null;
    oldestMs: number | null;
    builds: string[];
  }[];
  degraded: boolean;
}

async function list(as = VIEWER): Promise<Listed> {
  const response = await api.call({ url: '/api/v1/workers', as });
  expect(response.statusCode).toBe(200);
  return response.json<Listed>();
}

/** A row of the registry, without a process. */
async function register(
  id: string,
  more: { seenSecondsAgo?: number; stopped?: boolean; gone?: boolean; build?: string },
) {
  const { seenSecondsAgo = 0, stopped = false, gone = false, build = '1.0' } = more;
  await api.database.pool.query(
    `INSERT INTO workers (id, name, host, pid, build, pipelines, seen_at, stopped_at, seen_gone_at)
     VALUES ($1, $1, 'here', 7, $5, '{canary}', now() - $2 * interval '1 second', CASE WHEN $3 THEN now() END,
       CASE WHEN $4 THEN now() END)`,
    [id, seenSecondsAgo, stopped, gone, build],
  );
}

describe('the workers', () => {
  it('are shown to viewers, reviewers and admins', async () => {
    for (const as of [VIEWER, REVIEWER, ADMIN]) expect(await list(as)).toMatchObject({ workers: [], degraded: false });
  });

  it('are present, silent, stopped or dead, and no longer shown after a day', async () => {
    await register('present', {});
    await register('silent', { seenSecondsAgo: 21 });
    await register('stopped', { stopped: true });
    await register('died', { gone: true });
    await register('history', { seenSecondsAgo: 25 * 3_600, stopped: true });

    const { workers } = await list();

    expect(Object.fromEntries(workers.map(({ id, state }) => [id, state]))).toEqual({
      present: 'present',
      silent: 'silent',
      stopped: 'stopped',
      died: 'died',
    });
    expect(workers.find(({ id }) => id === 'died')?.diedAt).toEqual(expect.any(String));
  });

  it('say who holds its lock, and what each runs of items that are live', async () => {
    const pool = createPool({ url: api.database.url, size: 2, name: 'worker' });
    const worker = { id: 'held', name: 'worker-1', host: 'here', pid: 7, build: '1.0', pipelines: ['canary'] };
    const presence = await holdPresence({ url: api.database.url, pool, worker });
    await register('without', {});
    const hand = byHand(pool, canary);
    const [live, ended] = [await submit(api, ADMIN), await submit(api, ADMIN)];
    for (const { id } of [live, ended]) {
      expect(await claimTask(pool, canary, await hand.attempt(id, { worker: 'held' }))).toMatchObject({
        is: 'run',
      });
    }
    await api.call({ method: 'POST', url: `/api/v1/items/${ended.id}/cancel`, as: ADMIN });

    const { workers } = await list();
    await presence.retire();
    await pool.end();

    expect(workers).toMatchObject([
      { id: 'without', holdsLock: false, runningTasks: 0 },
      { id: 'held', name: 'worker-1', pid: 7, state: 'present', holdsLock: true, runningTasks: 1 },
    ]);
  });
});

describe('the task queues', () => {
  it('show pollers, backlog and the builds that serve them', async () => {
    await register('new', { build: '1.1' });
    await register('old', { build: '1.0' });
    await register('gone', { build: '0.9', gone: true });
    const seenAt = new Date('2030-01-01T00:00:00Z');
    api.engine.queueStatus = { pollers: [{ identity: 'new', seenAt }], backlog: 3, oldestMs: 1_500 };

    const { queues } = await list();

    const [pipeline, ...others] = queues;
    expect([pipeline]).toEqual([
      {
        name: 'canary',
        pollers: [{ identity: 'new', seenAt: seenAt.toISOString() }],
        backlog: 3,
        oldestMs: 1_500,
        builds: ['1.0', '1.1'],
      },
    ]);
    // The queues of sweeps and jobs, without which nothing is rescued, are shown beside those of pipelines.
    const own = DOMAINS.flatMap(({ jobs = [] }) => jobs.filter(({ queue }) => queue !== undefined).map(jobQueueOf));
    expect(own.length).toBeGreaterThan(1);
    expect(others.map(({ name, backlog }) => [name, backlog])).toEqual(
      ['maintenance', 'jobs', ...new Set(own)].map((name) => [name, 3]),
    );
  });

  it.each(['away', 'silent'] as const)('are unknown, not empty, while Temporal is %s', async (mood) => {
    await register('present', {});
    api.engine.mood = mood;

    const { workers, queues, degraded } = await list();

    expect(degraded).toBe(true);
    expect(queues[0]).toEqual({ name: 'canary', pollers: null, backlog: null, oldestMs: null, builds: ['1.0'] });
    expect(queues.map(({ pollers }) => pollers)).toEqual(queues.map(() => null));
    expect(workers).toMatchObject([{ id: 'present', state: 'present' }]);
  });
});
