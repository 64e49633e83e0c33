import { WorkflowFailedError } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SweepPageInput } from '../../src/core/sweep-page.js';
import { gate } from '../support/barrier.js';
import { type Maintenance, openMaintenance, pageOf } from '../support/maintenance.js';
import { until } from '../support/until.js';

let maintenance: Maintenance;
beforeAll(async () => {
  maintenance = await openMaintenance();
});
afterAll(() => maintenance.close());

async function resultOf(workflowId: string): Promise<unknown> {
  try {
    return await maintenance.client.workflow.getHandle(workflowId).result();
  } catch (error) {
    if (error instanceof WorkflowFailedError) return error.cause?.name;
    throw error;
  }
}

describe('a sweep', () => {
  it('names its installation to every activity, so that no worker of another installation sweeps its items', async () => {
    const asked: SweepPageInput[] = [];
    const worker = await maintenance.work({
      async sweepPage(input) {
        asked.push(input);
        return pageOf({ isLast: true });
      },
    });
    await maintenance.play('sweep', { pipeline: 'owned', rescues: 1 }, { memo: { installation: 'ours' } });
    await worker.stop();

    expect(asked).toMatchObject([{ pipeline: 'owned', installation: 'ours' }]);
  });

  it('turns page after page and keeps what all of them saw', async () => {
    const asked: SweepPageInput[] = [];
    const pages = [
      pageOf({
        examined: 50,
        totalStuck: 2,
        reEnqueued: 2,
        stuckMsTotal: 60_000,
        byStatus: { READING: 1, WRITING: 1 },
        byReason: { wedged: 1, backlog: 1 },
      }),
      pageOf({
        examined: 50,
        totalStuck: 1,
        permanentlyFailed: 1,
        stuckMsTotal: 90_000,
        byStatus: { READING: 1 },
        byReason: { backlog: 1 },
      }),
      pageOf({ examined: 3, started: 1, isLast: true, byReason: {}, errors: ['item x: no such table'] }),
    ];
    const worker = await maintenance.work({
      async sweepPage(input) {
        asked.push(input);
        return pages.shift() ?? pageOf({ isLast: true });
      },
    });
    const id = await maintenance.play('sweep', { pipeline: 'paged', rescues: 3 });
    await worker.stop();

    expect(asked.map(({ rescuesLeft }) => rescuesLeft)).toEqual([3, 3, 3]);
    expect(new Set(asked.map(({ startedAt }) => startedAt)).size).toBe(1);
    const [job] = await maintenance.jobs('sweep-paged');
    expect(job).toMatchObject({
      status: 'completed',
      errors: ['item x: no such table'],
      phases: { pages: expect.any(Number) as number },
    });
    expect(job?.result).toEqual({
      examined: 103,
      totalStuck: 3,
      reEnqueued: 2,
      started: 1,
      permanentlyFailed: 1,
      parked: 0,
      endedRuns: 0,
      reported: 0,
      byStatus: { READING: 2, WRITING: 1 },
      byReason: { wedged: 1, backlog: 2 },
      averageStuckDuration: 50_000,
      pages: 3,
      isWhole: true,
    });
    expect(await resultOf(id)).toEqual(job?.result);
  });

  it('that found nothing shares its row with the next', async () => {
    const worker = await maintenance.work();
    await maintenance.play('sweep', { pipeline: 'quiet', rescues: 3 });
    await maintenance.play('sweep', { pipeline: 'quiet', rescues: 3 });
    await worker.stop();
    expect(await maintenance.jobs('sweep-quiet')).toMatchObject([{ status: 'completed', runs: 2 }]);
  });

  it('stops where it is when its time is nearly up, and says that it is not whole', async () => {
    let pages = 0;
    const worker = await maintenance.work({
      async sweepPage() {
        pages += 1;
        return pageOf({ examined: 1 });
      },
    });
    await maintenance.play('sweep', { pipeline: 'endless', rescues: 3 }, { runTimeoutMs: 4_000 });
    await worker.stop();
    expect(await maintenance.jobs('sweep-endless')).toMatchObject([
      { status: 'completed', result: { isWhole: false, pages } },
    ]);
    expect(pages).toBeGreaterThan(0);
  });

  it('whose page fails again and again has failed, and says why', async () => {
    let tries = 0;
    const worker = await maintenance.work({
      sweepPage() {
        tries += 1;
        return Promise.reject(new Error('the engine has gone'));
      },
    });
    const id = await maintenance.play('sweep', { pipeline: 'failing', rescues: 3 });
    await worker.stop();
    expect(tries).toBe(3);
    expect(await resultOf(id)).toBe('ActivityFailure');
    expect(await maintenance.jobs('sweep-failing')).toMatchObject([
      { status: 'failed', errors: ['the engine has gone'] },
    ]);
  });

  it('is cancelled in the middle of a page that hangs', async () => {
    const begun = gate();
    const worker = await maintenance.work({
      sweepPage() {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    await maintenance.play(
      'sweep',
      { pipeline: 'cancelled', rescues: 3 },
      {
        async onStart(workflowId) {
          await begun.opened;
          await maintenance.client.workflow.getHandle(workflowId).cancel();
        },
      },
    );
    await worker.stop();
    expect(await maintenance.jobs('sweep-cancelled')).toMatchObject([{ status: 'aborted', errors: [] }]);
  });

  it('goes on in another process when the one that did a page has stopped', async () => {
    const begun = gate();
    const first = await maintenance.work({
      sweepPage() {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    await maintenance.play(
      'sweep',
      { pipeline: 'moved', rescues: 3 },
      {
        async onStart() {
          await begun.opened;
          await first.stop();
          await maintenance.work();
        },
      },
    );
    expect(await maintenance.jobs('sweep-moved')).toMatchObject([{ status: 'completed' }]);
  });

  it('that nobody carries on is marked failed by the next', async () => {
    const begun = gate();
    const lone = await openMaintenance();
    const killed = await lone.work({
      sweepPage() {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    const timedOut = await lone.play(
      'sweep',
      { pipeline: 'lost', rescues: 3 },
      {
        runTimeoutMs: 5_000,
        async onStart() {
          await begun.opened;
          await killed.stop();
        },
      },
    );
    expect((await lone.client.workflow.getHandle(timedOut).describe()).status.name).toBe('TIMED_OUT');
    expect(await lone.jobs('sweep-lost')).toMatchObject([{ status: 'running' }]);
    await until('its time is over by the database’s clock too', async () => {
      const { rowCount } = await lone.pool.query(`SELECT 1 FROM job_executions WHERE timeout_at < now()`);
      return rowCount === 1;
    });

    await lone.work();
    await lone.play('sweep', { pipeline: 'lost', rescues: 3 });

    expect(await lone.jobs('sweep-lost')).toMatchObject([
      { status: 'failed', errors: [expect.stringMatching(/died/)] },
      { status: 'completed' },
    ]);
    await lone.close();
  });
});
