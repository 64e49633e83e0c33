import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildApp } from '../../src/api/app.js';
import type { App } from '../../src/api/parts.js';
import { workflowIdOf } from '../../src/core/run.js';
import { createPrisma, type Prisma } from '../../src/db/postgres/prisma.js';
import { type RunningEventHub, startEventHub } from '../../src/loops/event-hub.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { createFakeJobs } from '../api/fake-jobs.js';
import { createFakeSchedules } from '../api/fake-schedules.js';
import { ADMIN, SECRET, tokenOf } from '../api/setup.js';
import { historyOf } from '../support/history.js';
import { effectsOf } from '../support/facts.js';
import { straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { leave, type Line, openStack, type Stack, untilAborted } from '../support/worker.js';

let stack: Stack;
let prisma: Prisma;
let hub: RunningEventHub;
const apps: App[] = [];
beforeAll(async () => {
  stack = await openStack();
  prisma = createPrisma(stack.limited);
  hub = startEventHub({ pool: stack.limited, logger: pino({ level: 'silent' }) });
});
afterAll(async () => {
  for (const app of apps) await app.close();
  await hub.stop();
  await prisma.$disconnect();
  await stack.close();
});

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

const SETTINGS = {
  ...{
    auth: { secret: SECRET },
    bodyLimitBytes: 100_000,
    temporalUi: null,
    sendsMail: false,
    trustProxy: null,
    pauses: { default: '1h', max: '24h' } as const,
    version: 'test',
  },
  links: { secret: SECRET, publicUrl: undefined },
};

/** The API as it is served, over the stack's own database and engine. */
async function operatorOf(line: Line): Promise<(path: string, body: object) => Promise<Answer>> {
  const limits = { rateLimitPerMinute: 100_000, maxEventLoopDelayMs: 0, maxStreams: 10, maxStreamsPerCaller: 10 };
  const app = await buildApp({
    ...{ pool: stack.limited, prisma, engine: stack.engine, pipelines: { [line.table().name]: line.table() } },
    ...{
      schedules: createFakeSchedules(),
      jobs: createFakeJobs(),
      blobs: () => Promise.reject(new Error('no operator needs a blob')),
      hub,
      logger: pino({ level: 'silent' }),
      metrics: createMetrics(),
    },
    ...{ settings: { ...SETTINGS, limits }, decisionSaves: {} },
    ...{ domainRoutes: [], follows: [], remarks: [], engineQueues: [], metricParts: [] },
  });
  apps.push(app);
  const headers = { authorization: `Bearer ${await tokenOf(ADMIN)}` };
  return async (url, payload) => {
    const response = await app.inject({ method: 'POST', url, headers, payload });
    return { status: response.statusCode, body: response.json<Record<string, unknown>>() };
  };
}

describe('an operator', () => {
  it('is refused a retry while the item lives, and granted it once its run was ended by hand: it goes on from its stage', async () => {
    const line = stack.line(straight);
    await line.work();
    const post = await operatorOf(line);
    const hangs = untilAborted();
    const run = await line.start({
      check: (context) => (context.attempt === 1 ? hangs(context) : leave(context, 'good')),
    });
    const retry = () => post(`/api/v1/items/${run.itemId}/retry`, { reason: 'it hangs' });

    const alive = await until('the retry is refused because the hanging stage runs', async () => {
      const answer = await retry();
      const diagnosis = answer.body['diagnosis'] as { reason: string } | undefined;
      return answer.body['state'] === 'CHECKING' && diagnosis?.reason === 'running' && answer;
    });
    expect(alive).toMatchObject({ status: 409, body: { code: 'still_alive' } });

    await stack.temporal.client.workflow.getHandle(workflowIdOf(run)).terminate('by hand');
    const granted = await until('its stage is no longer alive', async () => {
      const answer = await retry();
      return answer.status === 200 && answer;
    });

    expect(granted.body).toMatchObject({ visit: 1, epoch: 2, rescue: { count: 1 } });
    expect(await line.closed({ ...run, epoch: 2 })).toBe('final');
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 read', '1 check', '1 write']);
    const { rows } = await stack.pool.query<object>(
      'SELECT reason, actor, stages_again, result, moving_at IS NOT NULL AS moved FROM receipts WHERE item_id = $1',
      [run.itemId],
    );
    expect(rows).toEqual([
      { reason: 'workflow_closed', actor: 'adam', stages_again: ['check'], result: 'moving', moved: true },
    ]);
  });

  it('holds a whole pipeline, and lets it go on at once', async () => {
    const line = stack.line(straight);
    await line.work();
    line.dispatch();
    const post = await operatorOf(line);
    const path = `/api/v1/pipelines/${line.table().name}`;
    expect((await post(`${path}/pause`, { for: '2h', reason: 'a look' })).status).toBe(200);
    const runs = [await line.start(), await line.start()];
    for (const run of runs) {
      await until('the run waits for the end of the pause', async () =>
        (await historyOf(stack.temporal.client, run)).types.includes('TIMER_STARTED'),
      );
      expect(await effectsOf(stack.pool, run.itemId)).toEqual([]);
    }

    expect((await post(`${path}/resume`, {})).status).toBe(200);

    for (const run of runs) expect(await line.closed(run)).toBe('final');
  });
});
