import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRetentionPage, type Retained } from '../../src/activities/maintenance/retention.js';
import type { JobInput, RunJobInput } from '../../src/core/jobs.js';
import { ENGINE_KEEPS } from '../../src/db/recovery/retention.js';
import type { JobPage, PageContext } from '../../src/ports/job.js';
import { gate, holdLock } from '../support/barrier.js';
import { executionsOf, historyOf } from '../support/history.js';
import { rejectOnAbort } from '../support/job-pages.js';
import { KEPT, type Maintenance, openMaintenance, type PlayOptions } from '../support/maintenance.js';
import { until } from '../support/until.js';

let maintenance: Maintenance;
beforeAll(async () => {
  maintenance = await openMaintenance();
});
afterAll(() => maintenance.close());

type Told = Partial<Omit<RunJobInput, 'job'>> & { input?: JobInput };

function play(job: string, told: Told = {}, options: PlayOptions = {}): Promise<string> {
  return maintenance.play('run-job', { job, queue: 'jobs', key: '', input: {}, ...told }, options);
}

/** A job of so many pages, each of which counts one thing. The cursor is how many pages there were. */
function countTo(pages: number, seen: PageContext[] = []): JobPage {
  return async (page) => {
    seen.push(page);
    const at = Number(page.cursor ?? 0) + 1;
    return { counts: { things: 1 }, ...(at >= pages ? { last: true } : { next: at }) };
  };
}

const DOWN = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

/** A job that never ends by itself. */
function goOn(seen: PageContext[] = []): JobPage {
  return countTo(Number.POSITIVE_INFINITY, seen);
}

describe('a run of a job', () => {
  it('turns page after page until the last, and keeps what all of them did', async () => {
    const seen: PageContext[] = [];
    const pages: JobPage = async (page) => {
      seen.push(page);
      if (page.cursor === null) {
        return { counts: { seen: 3, by: { a: 1, b: 2 } }, errors: ['one broke'], costCents: 0.5, next: { at: 'half' } };
      }
      return { counts: { seen: 1, by: { b: 1 } }, costCents: 0.25, phases: { asking: 7 }, last: true };
    };
    const worker = await maintenance.workJobs({ paged: pages });
    const id = await play('paged', { input: { keyword: 'x' } });
    await worker.stop();

    expect(seen.map(({ cursor, input, atMost }) => ({ cursor, input, atMost }))).toEqual([
      { cursor: null, input: { keyword: 'x' }, atMost: null },
      { cursor: { at: 'half' }, input: { keyword: 'x' }, atMost: null },
    ]);
    const [job] = await maintenance.jobs('paged');
    const result = { seen: 4, by: { a: 1, b: 3 }, pages: 2, isWhole: true };
    expect(job).toMatchObject({ status: 'completed', result, errors: ['one broke'], costCents: 0.75 });
    expect(job?.phases).toEqual({ pages: expect.any(Number) as number, asking: 7 });
    expect(await maintenance.client.workflow.getHandle(id).result()).toEqual({
      result,
      errors: ['one broke'],
      costCents: 0.75,
    });
  });

  it('shows in its row what it has come to after each page, while it goes on', async () => {
    const [begun, over] = [gate(), gate()];
    const worker = await maintenance.workJobs({
      shown: async ({ cursor }) => {
        if (cursor === null) return { counts: { things: 2 }, next: 1 };
        begun.open();
        await over.opened;
        return { counts: { things: 1 }, last: true };
      },
    });
    const played = play('shown');
    await begun.opened;

    expect(await maintenance.jobs('shown')).toMatchObject([
      { status: 'running', result: { things: 2, pages: 1, isWhole: false } },
    ]);

    over.open();
    await played;
    await worker.stop();
    expect(await maintenance.jobs('shown')).toMatchObject([{ status: 'completed', result: { things: 3, pages: 2 } }]);
  });

  it('stops when its time is up, and the next run with the same key and input begins there', async () => {
    const seen: PageContext[] = [];
    const worker = await maintenance.workJobs({
      long: async (page) => {
        await delay(100);
        return goOn(seen)(page);
      },
    });
    const input = { keyword: 'a' };
    const timed = { runTimeoutMs: 3_000 };
    await play('long', { input }, timed);
    const first = seen.splice(0);
    await play('long', { input, key: 'other' }, timed);
    const ofOtherKey = seen.splice(0);
    await play('long', { input }, timed);
    const second = seen.splice(0);
    await play('long', { input: { keyword: 'b' } }, timed);
    const ofOtherInput = seen.splice(0);
    await worker.stop();

    expect(first.length).toBeGreaterThan(1);
    expect((await maintenance.jobs('long'))[0]).toMatchObject({
      status: 'completed',
      result: { isWhole: false, pages: first.length },
    });
    expect(first[0]?.cursor).toBeNull();
    expect(second[0]?.cursor).toBe(first.length);
    expect([ofOtherKey[0]?.cursor, ofOtherInput[0]?.cursor]).toEqual([null, null]);
  });

  it('begins at the beginning after a run that came to its end', async () => {
    const seen: PageContext[] = [];
    let isEndless = true;
    const worker = await maintenance.workJobs({
      ended: async (page) => {
        await delay(100);
        return isEndless ? goOn()(page) : countTo(1, seen)(page);
      },
    });
    await play('ended', {}, { runTimeoutMs: 2_000 });
    isEndless = false;
    await play('ended');
    await play('ended');
    await worker.stop();
    expect(seen.map(({ cursor }) => typeof cursor)).toEqual(['number', 'object']);
  });

  it('continues as new before its history gets long, under one row of the first run', async () => {
    const worker = await maintenance.workJobs({ many: countTo(12) });
    const workflowId = await play('many', { eventsPerRun: 30 });
    await worker.stop();

    const executions = await executionsOf(maintenance.client, { workflowId });
    expect(executions.length).toBeGreaterThan(2);
    for (const { types } of executions) expect(types.length).toBeLessThan(50);
    expect(await maintenance.jobs('many')).toMatchObject([
      { status: 'completed', runId: executions[0]?.runId, result: { things: 12, pages: 12, isWhole: true } },
    ]);
  });

  it('keeps the installation that its activities name when it continues as new', async () => {
    const worker = await maintenance.workJobs({ owned: countTo(6) });
    const workflowId = await play('owned', { eventsPerRun: 30 }, { memo: { installation: 'ours' } });
    await worker.stop();

    const executions = await executionsOf(maintenance.client, { workflowId });
    expect(executions.length).toBeGreaterThan(1);
    const last = maintenance.client.workflow.getHandle(workflowId, executions.at(-1)?.runId);
    expect((await last.describe()).memo).toEqual({ installation: 'ours' });
  });

  it('is aborted though its page answers at that moment and the run would continue as new', async () => {
    const [begun, cancelled] = [gate(), gate()];
    const seen: PageContext[] = [];
    const worker = await maintenance.workJobs({
      answering: async (page) => {
        begun.open();
        await cancelled.opened;
        return countTo(2, seen)(page);
      },
    });
    const id = await play(
      'answering',
      { eventsPerRun: 5 },
      {
        async onStart(workflowId) {
          await begun.opened;
          await maintenance.client.workflow.getHandle(workflowId).cancel();
          cancelled.open();
        },
      },
    );
    await worker.stop();
    expect(seen).toHaveLength(1);
    expect(await maintenance.jobs('answering')).toMatchObject([{ status: 'aborted', result: { things: 1, pages: 1 } }]);
    expect((await maintenance.client.workflow.getHandle(id).describe()).status.name).toBe('CANCELLED');
  });

  it('that is aborted while its row is written says so in the row', async () => {
    const holder = await holdLock(maintenance, 'LOCK TABLE job_executions IN ACCESS EXCLUSIVE MODE');
    const worker = await maintenance.workJobs({ early: goOn() });
    await play(
      'early',
      {},
      {
        async onStart(workflowId) {
          await until('the row waits for the lock', async () => {
            const { rowCount } = await maintenance.pool.query(
              `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
            );
            return rowCount === 1;
          });
          await maintenance.client.workflow.getHandle(workflowId).cancel();
          await until('the run knows', async () => {
            const { types } = await historyOf(maintenance.client, { workflowId });
            const asked = types.indexOf('WORKFLOW_EXECUTION_CANCEL_REQUESTED');
            return asked >= 0 && types.indexOf('WORKFLOW_TASK_COMPLETED', asked) >= 0;
          });
          await holder.release();
        },
      },
    );
    await worker.stop();
    expect(await maintenance.jobs('early')).toMatchObject([{ status: 'aborted', result: { pages: 0 } }]);
  });

  it('outlasts more tries in an outage than a page may fail by itself', async () => {
    const outcomes = [DOWN, new Error('odd'), DOWN, DOWN, new Error('odd'), null];
    let tries = 0;
    const worker = await maintenance.workJobs({
      outlasting: async () => {
        const outcome = outcomes[tries];
        tries += 1;
        if (outcome) throw outcome;
        return { counts: { things: 1 }, last: true };
      },
    });
    await play('outlasting');
    await worker.stop();
    expect(tries).toBe(outcomes.length);
    expect(await maintenance.jobs('outlasting')).toMatchObject([{ status: 'completed', errors: [] }]);
  });

  it('that an outage outlasts has failed before its time is up, and the next goes on where it stopped', async () => {
    const seen: PageContext[] = [];
    let isDown = true;
    const worker = await maintenance.workJobs({
      down: async (page) => {
        if (page.cursor === null) return { counts: { things: 1 }, next: 1 };
        if (isDown) throw DOWN;
        return countTo(2, seen)(page);
      },
    });
    await play('down', {}, { runTimeoutMs: 5_000 });
    expect(await maintenance.jobs('down')).toMatchObject([
      { status: 'failed', errors: [DOWN.message], result: { things: 1, pages: 1 } },
    ]);
    isDown = false;
    await play('down');
    await worker.stop();
    expect(seen[0]?.cursor).toBe(1);
  });

  it('has failed when a page fails again and again, says why, and the next begins at the beginning', async () => {
    let tries = 0;
    let isMended = false;
    const seen: PageContext[] = [];
    const worker = await maintenance.workJobs({
      failing: async (page) => {
        seen.push(page);
        if (isMended) return { counts: {}, last: true };
        if (page.cursor === null) return { counts: { things: 1 }, next: 1 };
        tries += 1;
        throw new Error('the table is gone');
      },
    });
    await play('failing');
    expect(tries).toBe(5);
    expect(await maintenance.jobs('failing')).toMatchObject([
      { status: 'failed', errors: ['the table is gone'], result: { things: 1, pages: 1, isWhole: false } },
    ]);
    seen.length = 0;
    isMended = true;
    await play('failing');
    await worker.stop();
    expect(seen.map(({ cursor }) => cursor)).toEqual([null]);
  });

  it('is aborted in the middle of a page that hangs, which sees it by its signal', async () => {
    const [begun, told] = [gate(), gate()];
    const worker = await maintenance.workJobs({
      hanging: ({ signal }) => {
        begun.open();
        signal.addEventListener('abort', told.open);
        return rejectOnAbort(signal);
      },
    });
    const id = await play(
      'hanging',
      {},
      {
        async onStart(workflowId) {
          await begun.opened;
          await maintenance.client.workflow.getHandle(workflowId).cancel();
        },
      },
    );
    await told.opened;
    await worker.stop();
    expect(await maintenance.jobs('hanging')).toMatchObject([{ status: 'aborted', errors: [] }]);
    expect((await maintenance.client.workflow.getHandle(id).describe()).status.name).toBe('CANCELLED');
  });

  it('keeps its pace: a page is told how many things it may do, and the next begins when they are due', async () => {
    const seen: { atMost: number | null; at: number }[] = [];
    const worker = await maintenance.workJobs({
      paced: async ({ atMost, cursor }) => {
        seen.push({ atMost, at: Date.now() });
        const at = Number(cursor ?? 0) + 1;
        return { counts: { things: 4 }, done: 4, ...(at === 3 ? { last: true } : { next: at }) };
      },
    });
    await play('paced', { perSecond: 4 });
    await worker.stop();
    expect(seen.map(({ atMost }) => atMost)).toEqual([40, 40, 40]);
    const gaps = seen.slice(1).map(({ at }, n) => at - (seen[n]?.at ?? 0));
    for (const gap of gaps) expect(gap).toBeGreaterThan(900);
  });

  it('shares its row with the run before where both found nothing, unless somebody started it under a key', async () => {
    const worker = await maintenance.workJobs({ idle: async () => ({ counts: { things: 0 }, last: true }) });
    await play('idle');
    await play('idle');
    await play('idle', { key: 'by-hand' });
    await play('idle');
    await worker.stop();
    expect((await maintenance.jobs('idle')).map(({ runs, key }) => [runs, key])).toEqual([
      [2, ''],
      [1, 'by-hand'],
      [1, ''],
    ]);
  });

  it('has its pages done on the queue that the job names, by a worker of activities alone', async () => {
    const worker = await maintenance.workJobs({ apart: countTo(2) }, { queue: 'jobs-apart' });
    await play('apart', { queue: 'jobs-apart' });
    await worker.stop();
    expect(await maintenance.jobs('apart')).toMatchObject([{ status: 'completed', result: { pages: 2 } }]);
  });

  it('goes on in another process when the one that did a page has stopped', async () => {
    const begun = gate();
    const first = await maintenance.workJobs({
      moved: () => {
        begun.open();
        return new Promise(() => undefined);
      },
    });
    const played = play('moved');
    await begun.opened;
    await first.stop();
    const second = await maintenance.workJobs({ moved: countTo(1) });
    await played;
    await second.stop();
    expect(await maintenance.jobs('moved')).toMatchObject([{ status: 'completed' }]);
  });

  it('waits for a worker that knows its job, and says in the end that nobody does', async () => {
    const worker = await maintenance.workJobs({});
    await play('unheard-of', {}, { runTimeoutMs: 4_000 });
    await worker.stop();
    expect(await maintenance.jobs('unheard-of')).toMatchObject([
      { status: 'failed', errors: [`no job 'unheard-of' in this version`] },
    ]);
  });
});

describe('retention', () => {
  const retained: Retained[] = ENGINE_KEEPS.map((part) => ({ part, keptMs: part.keptMs(KEPT) }));

  async function insertKeys(count: number): Promise<void> {
    await maintenance.pool.query(
      `INSERT INTO idempotency_keys (caller, route, key, body_hash, status, answer, created_at)
       SELECT 'a', 'r', n::text, '', 202, '{}', now() - interval '2 days' FROM generate_series(1, $1) AS n`,
      [count],
    );
  }

  function retentionPage(rows?: number): Record<string, JobPage> {
    return { retention: createRetentionPage(maintenance.limited, retained, rows) };
  }

  it('leaves no longer history for more batches', async () => {
    const worker = await maintenance.workJobs(retentionPage());
    await insertKeys(1);
    const few = await play('retention');
    await insertKeys(30_001);
    const many = await play('retention');
    await worker.stop();

    const lengthOf = async (workflowId: string) => (await historyOf(maintenance.client, { workflowId })).types.length;
    expect(await lengthOf(many)).toBe(await lengthOf(few));
    const results = (await maintenance.jobs('retention')).map(({ result }) => result['idempotencyKeys']);
    expect(results).toEqual([1, 30_001]);
  });

  it('goes on in the next page with the part whose rows were too many for one', async () => {
    const worker = await maintenance.workJobs(retentionPage(10), { pageMs: 1 });
    await insertKeys(35);
    await play('retention', { key: 'paged' });
    await worker.stop();
    expect((await maintenance.jobs('retention')).at(-1)).toMatchObject({
      status: 'completed',
      result: { idempotencyKeys: 35, pages: 4, isWhole: true },
    });
  });

  it('goes through every part, and a part that fails keeps no other', async () => {
    await insertKeys(5);
    await maintenance.pool.query(`ALTER TABLE receipts RENAME TO receipts_away`);
    const worker = await maintenance.workJobs(retentionPage());
    await play('retention', { key: 'broken' });
    await worker.stop();
    await maintenance.pool.query(`ALTER TABLE receipts_away RENAME TO receipts`);

    const job = (await maintenance.jobs('retention')).at(-1);
    expect(job).toMatchObject({
      status: 'completed',
      result: {
        hourlyMetrics: 0,
        dailyMetrics: 0,
        jobExecutions: 0,
        outbox: 0,
        receipts: 0,
        idempotencyKeys: 5,
        workers: 0,
      },
      errors: [expect.stringMatching(/^receipts: .*does not exist/)],
    });
    expect(Object.keys(job?.phases ?? {})).toContain('idempotencyKeys');
  });

  it('is tried again where the part can’t be removed for a moment', async () => {
    await insertKeys(5);
    const session = await maintenance.pool.connect();
    await session.query('BEGIN');
    await session.query('LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE');
    const worker = await maintenance.workJobs(retentionPage());
    const played = play('retention', { key: 'locked' });
    await until('retention waits for the lock', async () => {
      const { rowCount } = await maintenance.pool.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rowCount === 1;
    });
    await session.query('ROLLBACK');
    session.release();
    await played;
    await worker.stop();
    expect((await maintenance.jobs('retention')).at(-1)).toMatchObject({ errors: [], result: { idempotencyKeys: 5 } });
  });
});
