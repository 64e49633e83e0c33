import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queueStatus } from '../../../../src/temporal/queue-status.js';
import { type SourceServer, startSourceServer } from '../adapters/source-server.js';
import { itemOf } from '../../../support/facts.js';
import { type Installation, startInstallation } from '../../../support/installation.js';
import { receiptsOf } from '../../../support/receipts.js';
import { until } from '../../../support/until.js';
import { type Caller, callerOf } from '../../../e2e/caller.js';

/** More runs than each queue gets done in the time of this test, all of which hang. */
const RUNS = 60;

/** By the schedule of the canary's sweep, 10 s, and a slow machine's time. On a queue that it shared with the others it would
 *  wait for all of their runs. */
const RESCUED_WITHIN_MS = 60_000;
const DONE_WITHIN_MS = 30_000;

const JOBS = [
  { job: 'stats-refresh', queue: 'jobs-stats', input: {} },
  { job: 'discover-npm', queue: 'jobs-discovery', input: { keyword: 'skill', perRun: 20 } },
  { job: 'enrich-skills', queue: 'jobs-enrichment', input: { perRun: 20 } },
];

let hanging: SourceServer;
let installation: Installation;
let admin: Caller;
let temporal: Client;
beforeAll(async () => {
  hanging = await startSourceServer();
  hanging.answer(() => undefined);
  installation = await startInstallation({
    ...{ CANARY_STALE_AFTER: '1s', CANARY_STUCK_AFTER: '2s', STATS_EVERY: '10s' },
    ...{ DISCOVER_NPM_KEYWORD: 'skill', DISCOVER_EVERY: '10s', ENRICH_SKILLS: 'true', ENRICH_EVERY: '10s' },
    ...{ NPM_REGISTRY_URL: hanging.url, NPM_DOWNLOADS_URL: hanging.url, GITHUB_API_URL: hanging.url },
    ...{ SOURCES_ALLOW_PRIVATE: 'true', SOURCES_TIMEOUT_MS: '60000' },
  });
  admin = await callerOf(installation, 'root', ['admin']);
  temporal = new Client({ connection: await Connection.connect({ address: installation.temporalAddress }) });
}, 180_000);
afterAll(async () => {
  await temporal.connection.close();
  await installation.stop();
  await hanging.close();
});

/** An item that was decided after somebody had terminated its run: only a sweep drives it on. */
async function rescueOne(): Promise<void> {
  const id = await admin.submit({ stageMs: [20, 20, 20], decision: true });
  await admin.reaches(id, 'AWAITING');
  await temporal.workflow.getHandle(`canary:${id}:1`).terminate('by a test');
  await admin.post(`/api/v1/items/${id}/decisions`, { outcome: 'approve' });
  await until(
    'its sweep has rescued it',
    async () => (await itemOf(installation.pool, id)).state === 'DONE',
    RESCUED_WITHIN_MS,
  );
  expect(await receiptsOf(installation.pool, id)).toMatchObject([{ reason: 'workflow_closed', result: 'moving' }]);
}

async function finishOne(): Promise<void> {
  const id = await admin.submit({ stageMs: [20, 20, 20] });
  await until('it is done', async () => (await itemOf(installation.pool, id)).state === 'DONE', DONE_WITHIN_MS);
}

async function publishSkills(): Promise<void> {
  await installation.pool.query(
    `INSERT INTO skills (id, name, repo_url, skill_name)
     SELECT gen_random_uuid(), 'skill-' || n, 'https://github.com/ada/skill-' || n, 'skill-' || n FROM generate_series(1, 20) n`,
  );
}

/** Nobody refreshes any figures until it lets go. */
async function lockFigures(): Promise<pg.PoolClient> {
  const session = await installation.pool.connect();
  await session.query('BEGIN');
  await session.query('LOCK TABLE aggregates IN ACCESS EXCLUSIVE MODE');
  return session;
}

async function flood(): Promise<void> {
  for (const job of JOBS) {
    const start = () =>
      temporal.workflow.start('run-job', {
        workflowId: `flood-${randomUUID()}`,
        taskQueue: 'jobs',
        args: [{ ...job, key: randomUUID() }],
        workflowExecutionTimeout: '10m',
      });
    await Promise.all(Array.from({ length: RUNS }, start));
  }
}

async function areOccupied(): Promise<boolean> {
  const backlogs = await Promise.all(JOBS.map(({ queue }) => queueStatus(temporal, queue)));
  return backlogs.every(({ backlog }) => (backlog ?? 0) > 0);
}

describe('statistics, discovery and enrichment that hang, with queues full of more', () => {
  it('delay no sweep and no start', async () => {
    await publishSkills();
    const locked = await lockFigures();
    try {
      await flood();
      await until('all three are at their limit', async () => hanging.open() >= 2 && areOccupied(), 120_000);

      await Promise.all([rescueOne(), rescueOne(), rescueOne(), finishOne(), finishOne()]);

      expect(await areOccupied()).toBe(true);
      await installation.ready();
    } finally {
      await locked.query('ROLLBACK');
      locked.release();
    }
  }, 300_000);
});
