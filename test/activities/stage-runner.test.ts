import { tsToMs } from '@temporalio/common/lib/time.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { createPatientReads } from '../../src/activities/patient-reads.js';
import { AppError } from '../../src/core/errors.js';
import { definePipeline, stage } from '../../src/core/pipeline.js';
import { type RunRef, workflowIdOf } from '../../src/core/run.js';
import type { AnyStage, Json } from '../../src/ports/stage.js';
import { gate } from '../support/barrier.js';
import { attemptsOf, effectsOf, itemOf, taskOf } from '../support/facts.js';
import { historyOf } from '../support/history.js';
import { straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { fails, leave, type Line, type Script, untilAborted, useStack } from '../support/worker.js';

/** Short times, so that the waits are soon over. */
const quick = definePipeline({
  name: 'quick',
  start: 'WORKING',
  sweep: { every: '10s', staleAfter: '5s', stuckAfter: '15s' },
  rescue: { budget: 3, backoff: ['2s'], budgetResetAfter: '24h', oldestRescued: '7d', exhausted: 'FAILED' },
  cancelled: 'FAILED',
  states: {
    WORKING: {
      does: [
        stage('work', {
          tries: 3,
          within: '1500ms',
          progressWithin: '600ms',
          backoff: { first: '300ms', max: '500ms' },
          spent: { move: 'FAILED' },
        }),
        stage('glance', {
          tries: 3,
          within: '1s',
          short: true,
          backoff: { first: '300ms', max: '500ms' },
          spent: { move: 'FAILED' },
        }),
      ],
      then: { done: 'DONE' },
    },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed' },
  },
});

const stack = useStack();
let line: Line;
beforeAll(async () => {
  line = stack.line(quick);
  await line.work();
});

async function walk(script: Script): Promise<RunRef> {
  const run = await line.start(script);
  expect(await line.closed(run)).toBe('final');
  return run;
}

interface Tried {
  result: string;
  errorClass: string | null;
  message: string | null;
  tookMs: number;
  /** Since the attempt before ended. */
  waitedMs: number | null;
}

async function triesOf(run: RunRef, of = 'work'): Promise<Tried[]> {
  const { rows } = await stack.pool.query<Tried>(
    `SELECT result, error_class AS "errorClass", error_message AS message,
       extract(epoch FROM ended_at - started_at)::float8 * 1000 AS "tookMs",
       extract(epoch FROM started_at - lag(ended_at) OVER (ORDER BY id))::float8 * 1000 AS "waitedMs"
     FROM attempts WHERE item_id = $1 AND stage = $2 ORDER BY id`,
    [run.itemId, of],
  );
  return rows;
}

describe.concurrent('a stage that fails', () => {
  it('is tried again after the wait its row names, and counted in the database', async () => {
    const run = await walk({ work: fails(new Error('boom'), [1, 2]) });

    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['work error', 'work error', 'work done', 'glance done']);
    expect(await taskOf(stack.pool, run.itemId, 'work')).toMatchObject({ errors: 2, crashes: 0, attempt: 3 });
    const [, second, third] = await triesOf(run);
    expect(second?.waitedMs).toBeGreaterThanOrEqual(300);
    expect(third?.waitedMs).toBeGreaterThanOrEqual(500);
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'DONE', errorClass: null });
  });

  it('waits and is counted in the same way as a short one', async () => {
    const run = await walk({ glance: fails(new Error('boom'), [1, 2]) });

    expect(await taskOf(stack.pool, run.itemId, 'glance')).toMatchObject({ errors: 2, crashes: 0, attempt: 3 });
    const [, second, third] = await triesOf(run, 'glance');
    expect(second?.waitedMs).toBeGreaterThanOrEqual(300);
    expect(third?.waitedMs).toBeGreaterThanOrEqual(500);
  });

  it('is left alone for as long as the failing service asked for', async () => {
    const busy = new AppError('model_unavailable', 'too many requests', { facts: { retryAfterMs: 1_200 } });
    const [, second] = await triesOf(await walk({ work: fails(busy, [1]) }));
    expect(second?.waitedMs).toBeGreaterThanOrEqual(1_200);
  });

  it('fails the item when its tries are spent', async () => {
    const run = await walk({ work: fails(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })) });

    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['work error', 'work error', 'work error']);
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({
      state: 'FAILED',
      errorClass: 'NETWORK_ERROR',
      errorMessage: 'connect ECONNREFUSED',
      errorStage: 'work',
    });
    expect(await effectsOf(stack.pool, run.itemId)).toEqual([]);
  });

  it('is not tried again where that cannot help', async () => {
    const run = await walk({ work: fails(new AppError('bad_input', 'not a picture')) });

    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['work error']);
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'FAILED', errorClass: 'BAD_INPUT' });
  });

  it('is given the checkpoint that an earlier attempt kept', async () => {
    const found: Json[] = [];
    const work: AnyStage = async (context) => {
      found.push(context.checkpoint);
      if (context.attempt < 3) await context.keep({ page: context.attempt });
      if (context.attempt < 3) throw new Error('boom');
      return leave(context);
    };
    await walk({ work });

    expect(found).toEqual([null, { page: 1 }, { page: 2 }]);
  });
});

describe.concurrent('an error', () => {
  it('is kept short, in the row and in the history', async () => {
    const run = await walk({ work: fails(new Error('x'.repeat(6_000_000)), [1]) });

    const [first] = await triesOf(run);
    expect(first?.message).toHaveLength(2_000);
    const { json } = await historyOf(stack.temporal.client, run);
    expect(JSON.stringify(json).length).toBeLessThan(50_000);
  });

  it('may hold characters that neither the database nor Temporal can take', async () => {
    const cutInTwo = `${'x'.repeat(1_999)}\u{1f600}`;
    const words = ['nul \u0000 and half a pair \ud800', cutInTwo];
    const work: AnyStage = (context) => fails(new Error(words[context.attempt - 1]), [1, 2])(context);
    const run = await walk({ work });

    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['work error', 'work error', 'work done', 'glance done']);
    expect(await taskOf(stack.pool, run.itemId, 'work')).toMatchObject({ errors: 2, crashes: 0 });
  });

  it('need not be an Error', async () => {
    const thrown: unknown[] = [undefined, Object.assign(new Error(), { message: 42 })];
    const work: AnyStage = async (context) => {
      if (context.attempt < 3) throw thrown[context.attempt - 1];
      return leave(context);
    };
    const run = await walk({ work });

    expect((await triesOf(run)).map(({ message }) => message)).toEqual(['undefined', '42', null]);
  });
});

describe.concurrent('a save that the database refuses', () => {
  const refused: [string, AnyStage][] = [
    ['a statement', async () => ({ outcome: 'done', save: { text: BAD_INSERT, values: [] } })],
    [
      'a function',
      async () => ({
        outcome: 'done',
        save: async (sql) => void (await sql.query(`WITH guard AS (SELECT 1) ${BAD_INSERT}`)),
      }),
    ],
    ['a function that throws', async () => ({ outcome: 'done', save: () => Promise.reject(new Error('no')) })],
    ['a statement without its guard', async () => ({ outcome: 'done', save: { text: 'SELECT 1', values: [] } })],
    [
      'an outcome that the row does not name',
      async (context) => ({ ...(await leave(context)), outcome: 'maybe', units: ['a'] }),
    ],
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what a careless save might do
    ['a function that throws a word', async () => ({ outcome: 'done', save: () => Promise.reject('no') })],
  ];

  it.each(refused)('is an error of the stage: %s', async (_, bad) => {
    const run = await walk({ work: (context) => (context.attempt === 1 ? bad(context) : leave(context)) });

    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['work error', 'work done', 'glance done']);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 work', '1 glance']);
    expect(await taskOf(stack.pool, run.itemId, 'work')).toMatchObject({ errors: 1, crashes: 0 });
  });
});

const BAD_INSERT = `INSERT INTO canary_effects (item_id, visit, stage, attempt) SELECT NULL::uuid, 1, 'work', 1 FROM guard`;

describe.concurrent('a stage that takes too long', () => {
  it('is aborted as an error though it ignores its signal', async () => {
    const triedAgain = gate();
    const work: AnyStage = async (context) => {
      if (context.attempt > 1) {
        triedAgain.open();
        return leave(context);
      }
      const ticking = setInterval(() => {
        context.progress({});
      }, 100);
      await triedAgain.opened;
      clearInterval(ticking);
      return leave(context);
    };
    const run = await walk({ work });

    const [first, second] = await triesOf(run);
    expect(first).toMatchObject({
      result: 'error',
      errorClass: 'SCAN_TIMEOUT',
      message: 'work took longer than 1500ms',
    });
    expect(first?.tookMs).toBeGreaterThanOrEqual(1_500);
    expect(second).toMatchObject({ result: 'done' });
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 work', '1 glance']);
  });

  it('is aborted when it says nothing for too long', async () => {
    const work: AnyStage = (context) => (context.attempt > 1 ? leave(context) : untilAborted()(context));
    const run = await walk({ work });

    const [first] = await triesOf(run);
    expect(first).toMatchObject({ errorClass: 'SCAN_TIMEOUT', message: 'work reported no progress for 600ms' });
    expect(first?.tookMs).toBeGreaterThanOrEqual(600);
  });

  it('is aborted where it is short', async () => {
    const glance: AnyStage = (context) => (context.attempt > 1 ? leave(context) : untilAborted()(context));
    const run = await walk({ glance });

    const [first] = await triesOf(run, 'glance');
    expect(first).toMatchObject({ errorClass: 'SCAN_TIMEOUT', message: 'glance took longer than 1s' });
  });

  it('is not blamed for a database that did not answer it in time', async () => {
    const reads = createPatientReads({
      query: () => Promise.reject(Object.assign(new Error('nobody listens'), { code: 'ECONNREFUSED' })),
    });
    const glance: AnyStage = async (context) => {
      if (context.attempt === 1) await reads.query('SELECT 1');
      return leave(context);
    };
    const run = await walk({ glance });

    const [first] = await triesOf(run, 'glance');
    expect(first).toMatchObject({
      errorClass: 'DB_ERROR',
      message: 'glance waited for the database until its 1s were over',
    });
  });
});

describe('a database that is slow to grant a claim', () => {
  it('is waited for without the attempt being taken for dead', async () => {
    const slow = stack.line(straight);
    await slow.work();
    const { itemId, ...run } = await slow.insert();
    const holder = await stack.pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM items WHERE id = $1 FOR UPDATE', [itemId]);
    await stack.engine.start({ itemId, ...run });

    // Past the heartbeat timeout, and still the first attempt.
    await until('the attempt has beaten for longer than its timeout', async () => {
      const { raw } = await stack.temporal.client.workflow.getHandle(workflowIdOf({ itemId, ...run })).describe();
      const [pending] = raw.pendingActivities ?? [];
      const beatenMs = tsToMs(pending?.lastHeartbeatTime ?? {}) - tsToMs(pending?.lastStartedTime ?? {});
      return pending?.attempt === 1 && beatenMs > 4_500;
    });
    await holder.query('COMMIT');
    holder.release();

    expect(await slow.closed({ itemId, ...run })).toBe('final');
    expect(await attemptsOf(stack.pool, itemId)).toEqual(['read done', 'check done', 'write done']);
    expect(await taskOf(stack.pool, itemId, 'read')).toMatchObject({ crashes: 0 });
  });
});

describe('a worker that has just stood still', () => {
  it('claims no task that came meanwhile, so that a task which Temporal gave up counts no crash', async () => {
    const own = stack.line(straight);
    let sleptMs = 8_000;
    await own.work({ sleptMs: () => sleptMs });
    const run = await own.start();
    const handle = stack.temporal.client.workflow.getHandle(workflowIdOf(run));
    await until('its task was handed back', async () => {
      const { raw } = await handle.describe();
      return (raw.pendingActivities ?? []).some(({ attempt }) => (attempt ?? 0) > 1);
    });
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual([]);

    sleptMs = 0;
    expect(await own.closed(run)).toBe('final');
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['read done', 'check done', 'write done']);
  });
});
