import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobPage } from '../../src/ports/job.js';
import { createTemporalJobs } from '../../src/temporal/jobs.js';
import { gate } from '../support/barrier.js';
import { rejectOnAbort } from '../support/job-pages.js';
import { type Maintenance, openMaintenance } from '../support/maintenance.js';

let maintenance: Maintenance;
beforeAll(async () => {
  maintenance = await openMaintenance();
});
afterAll(() => maintenance.close());

const LONG_MS = 60_000;

function jobs() {
  return createTemporalJobs(maintenance.client, [{ name: 'copy' }, { name: 'apart', queue: 'own' }]);
}

describe('a job that is started by hand', () => {
  it('is joined by a second start with the same key, and both may wait for the one result', async () => {
    const [begun, over] = [gate(), gate()];
    const inputs: unknown[] = [];
    const page: JobPage = async ({ input }) => {
      inputs.push(input);
      begun.open();
      await over.opened;
      return { counts: { copied: 3 }, errors: ['one was locked'], costCents: 2, last: true };
    };
    const worker = await maintenance.workJobs({ copy: page });
    const first = await jobs().start({ job: 'copy', key: 'a', input: { from: 'x' } });
    await begun.opened;
    const second = await jobs().start({ job: 'copy', key: 'a', input: { from: 'y' } });
    const other = await jobs().start({ job: 'copy', key: 'b', input: { from: 'z' } });
    expect(await jobs().wait(first, 100)).toBeNull();
    over.open();

    const ending = { status: 'completed', result: { copied: 3, pages: 1, isWhole: true }, errors: ['one was locked'] };
    expect(await jobs().wait(first, LONG_MS)).toMatchObject(ending);
    expect(await jobs().wait(second, LONG_MS)).toMatchObject({ ...ending, costCents: 2 });
    await jobs().wait(other, LONG_MS);
    await worker.stop();
    expect([first.joined, second.joined, other.joined]).toEqual([false, true, false]);
    expect(second.runId).toBe(first.runId);
    expect(inputs).toEqual([{ from: 'x' }, { from: 'z' }]);
    expect((await maintenance.jobs('copy')).map(({ key, runId }) => [key, runId])).toEqual([
      ['a', first.runId],
      ['b', other.runId],
    ]);
  });

  it('is begun anew under the same key when the run before has ended', async () => {
    const worker = await maintenance.workJobs({ copy: async () => ({ counts: {}, last: true }) });
    const start = { job: 'copy', key: 'again', input: {} };
    const first = await jobs().start(start);
    await jobs().wait(first, LONG_MS);
    const second = await jobs().start(start);
    await jobs().wait(second, LONG_MS);
    await worker.stop();
    expect(second.joined).toBe(false);
    expect(second.runId).not.toBe(first.runId);
  });

  it('is joined under the id of its first run when it has continued as new', async () => {
    const [begun, over] = [gate(), gate()];
    const worker = await maintenance.workJobs({
      copy: async ({ cursor }) => {
        if (cursor === null) return { counts: { copied: 1 }, next: 1 };
        begun.open();
        await over.opened;
        return { counts: { copied: 1 }, last: true };
      },
    });
    // As the adapter starts it, but with a history that is long at once.
    const handle = await maintenance.client.workflow.start('run-job', {
      workflowId: 'job:copy:long',
      taskQueue: 'jobs',
      args: [{ job: 'copy', queue: 'jobs', key: 'long', input: {}, eventsPerRun: 5 }],
      workflowExecutionTimeout: LONG_MS,
    });
    await begun.opened;
    const joined = await jobs().start({ job: 'copy', key: 'long', input: {} });
    over.open();
    expect(await jobs().wait(joined, LONG_MS)).toMatchObject({ result: { copied: 2, pages: 2 } });
    await worker.stop();
    expect(joined).toMatchObject({ joined: true, runId: handle.firstExecutionRunId });
  });

  it('is aborted, which whoever waits is told', async () => {
    const begun = gate();
    const worker = await maintenance.workJobs({
      copy: ({ signal }) => {
        begun.open();
        return rejectOnAbort(signal);
      },
    });
    const run = await jobs().start({ job: 'copy', key: 'aborted', input: {} });
    await begun.opened;
    await jobs().abort(run);
    expect(await jobs().wait(run, LONG_MS)).toEqual({ status: 'aborted' });
    await jobs().abort(run);
    await worker.stop();
    expect((await maintenance.jobs('copy')).at(-1)).toMatchObject({ key: 'aborted', status: 'aborted' });
  });

  it('that fails says why', async () => {
    const worker = await maintenance.workJobs({ copy: () => Promise.reject(new Error('the disk is full')) });
    const run = await jobs().start({ job: 'copy', key: 'failed', input: {} });
    expect(await jobs().wait(run, LONG_MS)).toEqual({ status: 'failed', why: 'the disk is full' });
    await worker.stop();
  });

  it('has its pages done on its own queue', async () => {
    const worker = await maintenance.workJobs(
      { apart: async () => ({ counts: { done: 1 }, last: true }) },
      { queue: 'jobs-own' },
    );
    const run = await jobs().start({ job: 'apart', key: 'k', input: {} });
    expect(await jobs().wait(run, LONG_MS)).toMatchObject({ status: 'completed', result: { done: 1 } });
    await worker.stop();
  });

  it('that nobody knows is refused', async () => {
    await expect(jobs().start({ job: 'nothing', key: 'k', input: {} })).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each([
    ['the empty key, which is that of schedules', { key: '' }],
    ['a pace of nothing', { perSecond: 0 }],
    ['a pace below nothing', { perSecond: -1 }],
    ['a pace without end', { perSecond: Number.POSITIVE_INFINITY }],
  ])('under %s is refused', async (_, wrong) => {
    const start = { job: 'copy', key: 'k', input: {}, ...wrong };
    await expect(jobs().start(start)).rejects.toMatchObject({ code: 'invalid_input', kind: 'invalid' });
  });
});
