import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queueStatus } from '../../../src/temporal/queue-status.js';
import { SCHEDULES } from '../../support/schedules.js';
import { until } from '../../support/until.js';
import { type Parts, startParts } from '../parts.js';

let parts: Parts;
beforeAll(async () => {
  parts = await startParts({ workers: 1 });
}, 120_000);
afterAll(() => parts.stop());

async function call<T>(path: string, method: 'GET' | 'POST' = 'GET'): Promise<T> {
  const response = await fetch(`${parts.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${parts.token}` },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

async function completed(job: string): Promise<number> {
  const { rows } = await parts.pool.query<{ runs: number }>(
    `SELECT coalesce(sum(runs), 0)::int AS runs FROM job_executions WHERE job = $1 AND status = 'completed'`,
    [job],
  );
  return rows[0]?.runs ?? 0;
}

interface Listed {
  degraded: boolean;
  schedules: { id: string; inTemporal: boolean | null; lastExecution: { status: string } | null }[];
}

describe('the API process', { timeout: 120_000 }, () => {
  it('makes the schedules and does their work itself, as its health says', async () => {
    await until('a sweep has ended', async () => (await completed('sweep-canary')) > 0);

    const { degraded, schedules } = await call<Listed>('/api/v1/schedules');
    expect(degraded).toBe(false);
    const listed = schedules.map(({ id, inTemporal }) => [id, inTemporal]);
    expect(listed).toEqual(SCHEDULES.map(({ id, isOn }) => [id, isOn]));
    expect(listed).toEqual(
      expect.arrayContaining([
        ['sweep-canary', true],
        ['retention', true],
      ]),
    );
    expect(schedules[0]?.lastExecution).not.toBeNull();
    const { parts: health } = await call<{ parts: { sweeps: { status: string } } }>('/health/ready');
    expect(health.sweeps.status).toBe('ok');
  });

  it('runs what an operator triggers, and keeps who it was', async () => {
    await call('/api/v1/schedules/retention/trigger', 'POST');
    await until('retention has run', async () => (await completed('retention')) === 1);
    const { rows } = await parts.pool.query('SELECT action, target FROM operator_actions');
    expect(rows).toEqual([{ action: 'trigger', target: 'schedule:retention' }]);
  });

  it('works on the queues of jobs that are switched off too, because they can be started by hand', async () => {
    const queues = SCHEDULES.flatMap((row) => (row.workflow === 'run-job' && !row.isOn ? [row.input.queue] : []));
    for (const queue of queues) {
      await until(`${queue} is polled`, async () => (await queueStatus(parts.client, queue)).pollers.length > 0);
    }
  });

  it('makes a schedule again that Temporal has lost', async () => {
    await parts.client.schedule.getHandle('retention').delete();

    await until('it is there again', () =>
      parts.client.schedule
        .getHandle('retention')
        .describe()
        .then(
          () => true,
          () => false,
        ),
    );
  });

  it('ends a run that a version before run-job has left on a queue of its own', async () => {
    const left = await parts.client.workflow.start('stats-refresh', {
      workflowId: 'stats-refresh-left-behind',
      taskQueue: 'stats',
      args: [{}],
      workflowRunTimeout: '10m',
    });
    await until('it has ended', async () => (await left.describe()).status.name === 'COMPLETED', 90_000);
  });

  it('counts the figures of the present hour', async () => {
    await until('the hour is known', async () => {
      const { hours } = await call<{ hours: { figures: object | null }[] }>('/api/v1/metrics/hours?pipeline=canary');
      return hours.some(({ figures }) => figures !== null);
    });
  });
});
