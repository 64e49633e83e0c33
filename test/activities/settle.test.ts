import { ApplicationFailure } from '@temporalio/common';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunRef, workflowIdOf } from '../../src/core/run.js';
import { createPool } from '../../src/db/postgres/client.js';
import { definePipeline, stage } from '../../src/core/pipeline.js';
import type { AnyStage, Json } from '../../src/ports/stage.js';
import { attemptsOf, effectsOf, itemOf, tasksOf } from '../support/facts.js';
import { type Proxy, startProxy } from '../support/proxy.js';
import { until } from '../support/until.js';
import { leave, type Line, openStack, type Script, silent, type Stack } from '../support/worker.js';

const options = {
  tries: 3,
  within: '2m',
  beats: '2s',
  backoff: { first: '50ms', max: '50ms' },
  spent: { move: 'FAILED' },
} as const;

const patient = definePipeline({
  name: 'patient',
  start: 'WORKING',
  sweep: { every: '10s', staleAfter: '5s', stuckAfter: '15s' },
  rescue: { budget: 3, backoff: ['2s'], budgetResetAfter: '24h', oldestRescued: '7d', exhausted: 'FAILED' },
  cancelled: 'FAILED',
  states: {
    WORKING: { does: [stage('work', options), stage('close', options)], then: { done: 'DONE' } },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed' },
  },
});

let stack: Stack;
let line: Line;
/** Between the worker and the database. */
let wire: Proxy;
let pool: pg.Pool;
let failedBeats = 0;
let lostCheckpoints = 0;
beforeAll(async () => {
  stack = await openStack();
  line = stack.line(patient);
  wire = await startProxy(Number(new URL(stack.url).port));
  const url = new URL(stack.url);
  url.port = String(wire.port);
  const logger = { ...silent, info: () => undefined, warn: countLost, child: () => logger } as unknown as typeof silent;
  pool = createPool({ url: url.href, size: 10, name: 'wired' });
  await line.work({ pool, logger });
});
afterAll(async () => {
  await stack.close();
  await pool.end();
  await wire.close();
});

function countLost(_: unknown, message: string): void {
  if (message === 'beat could not be written') failedBeats += 1;
  if (message === 'checkpoint could not be kept') lostCheckpoints += 1;
}

async function checkpointOf(itemId: string): Promise<number | undefined> {
  const { rows } = await stack.pool.query<{ page: number }>(
    `SELECT (checkpoint ->> 'page')::int AS page FROM tasks WHERE item_id = $1 AND stage = 'work'`,
    [itemId],
  );
  return rows[0]?.page;
}

async function walk(script: Script): Promise<RunRef> {
  const run = await line.start(script);
  expect(await line.closed(run)).toBe('final');
  return run;
}

/** Ends the attempt in Temporal, which gives it to nobody else for an hour. */
async function giveUp({ itemId }: RunRef): Promise<void> {
  const { rows } = await stack.pool.query<{ token: Buffer }>(
    `SELECT token FROM tasks WHERE item_id = $1 AND status = 'running'`,
    [itemId],
  );
  const failure = ApplicationFailure.create({ message: 'given up', nextRetryDelay: '1h' });
  await stack.temporal.client.activity.fail(rows[0]?.token ?? Buffer.alloc(0), failure);
}

async function attemptsInTemporal(run: RunRef): Promise<number> {
  const { raw } = await stack.temporal.client.workflow.getHandle(workflowIdOf(run)).describe();
  return raw.pendingActivities?.[0]?.attempt ?? 0;
}

/** Done, each stage once, and nothing held against it. */
async function unharmed(run: RunRef): Promise<void> {
  expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'DONE' });
  expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['work done', 'close done']);
  expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 work', '1 close']);
  expect((await tasksOf(stack.pool, run.itemId)).filter(({ errors, crashes }) => errors + crashes > 0)).toEqual([]);
}

/** Leaves the rows as they are after a crash of the database that lost the claim; test/db/spine/lost-claim.test.ts makes such a crash. */
async function loseClaim(itemId: string): Promise<void> {
  await stack.pool.query('DELETE FROM tasks WHERE item_id = $1', [itemId]);
  await stack.pool.query('UPDATE items SET started = false WHERE id = $1', [itemId]);
}

describe('a stage whose claim the database has lost', () => {
  it('is committed all the same', async () => {
    const run = await walk({
      async work(context) {
        await loseClaim(context.item.id);
        return leave(context);
      },
    });

    await unharmed(run);
  });

  it('is held again from its next beat on', async () => {
    const run = await walk({
      async work(context) {
        await loseClaim(context.item.id);
        await until('it is held again', async () => (await tasksOf(stack.pool, context.item.id)).length > 0);
        return leave(context);
      },
    });

    await unharmed(run);
  });

  it('is held again by its next checkpoint, which is kept', async () => {
    const run = await walk({
      async work(context) {
        await loseClaim(context.item.id);
        await context.keep({ page: 4 });
        expect(await checkpointOf(context.item.id)).toBe(4);
        return leave(context);
      },
    });

    await unharmed(run);
  });
});

describe('a claim that the database has, and whose answer it took with it', () => {
  it('is taken up by the next attempt, and is no crash: nobody had begun', async () => {
    const { lost } = wire.loseAnswer((request) => request.includes('WORKING'));
    const run = await line.start();
    await lost;
    wire.cut();
    await until('the attempt is given up', async () => (await attemptsInTemporal(run)) > 1);
    wire.heal();

    expect(await line.closed(run)).toBe('final');
    await unharmed(run);
    expect(await tasksOf(stack.pool, run.itemId)).toMatchObject([{ attempt: 1 }, { attempt: 1 }]);
  });
});

describe('a checkpoint', () => {
  it('is lost while the database is away; the stage goes on and keeps later checkpoints', async () => {
    const run = await walk({
      async work(context) {
        await context.keep({ page: 1 });
        wire.cut();
        await context.keep({ page: 2 });
        wire.heal();
        await until('one can be kept again', async () => {
          await context.keep({ page: 3 });
          return (await checkpointOf(context.item.id)) === 3;
        });
        return leave(context);
      },
    });

    expect(lostCheckpoints).toBeGreaterThan(0);
    await unharmed(run);
  });

  it('waits for a database that is away if it comes with an effect, which is written once', async () => {
    const lostBeats = failedBeats;
    const effect = {
      text: `INSERT INTO canary_effects (item_id, visit, stage, attempt) SELECT item_id, visit, 'piece', attempt FROM guard`,
      values: [],
    };
    const run = await walk({
      async work(context) {
        wire.cut();
        const kept = context.keep({ page: 1 }, effect);
        await until('a beat is lost too', async () => Promise.resolve(failedBeats > lostBeats));
        wire.heal();
        await kept;
        expect(await checkpointOf(context.item.id)).toBe(1);
        return leave(context);
      },
    });

    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 piece', '1 work', '1 close']);
  });

  it('fails the stage if it can never be written', async () => {
    const run = await walk({
      async work(context) {
        if (context.attempt === 1) await context.keep({ page: 1n } as unknown as Json);
        return leave(context);
      },
    });

    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['work error', 'work done', 'close done']);
  });
});

describe('finished work', () => {
  it('is committed when a database that went away is back, and costs nothing', async () => {
    const run = await line.start({
      async work(context) {
        wire.cut();
        return leave(context);
      },
    });
    const before = failedBeats;
    await until('two beats were lost', () => failedBeats >= before + 2);
    wire.heal();

    expect(await line.closed(run)).toBe('final');
    await unharmed(run);
  });

  it('is committed though Temporal gave its attempt up while the database was away, if nobody has taken the task', async () => {
    let signal: AbortSignal | undefined;
    const run = await line.start({
      async work(context) {
        wire.cut();
        ({ signal } = context);
        return leave(context);
      },
    });
    await until('the work is done', () => signal);
    await giveUp(run);
    await until('the attempt has heard of it', () => signal?.aborted);
    wire.heal();

    await until('it is committed', async () => (await effectsOf(stack.pool, run.itemId)).length > 0);
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['work done']);
    await stack.temporal.client.workflow.getHandle(workflowIdOf(run)).terminate();
  });

  it('is not done again when the answer to its commit was lost', async () => {
    const { lost, breakOff } = wire.loseAnswer((request) => request.includes('the answer to this is lost'));
    const run = await line.start({
      work: async (context) => ({ ...(await leave(context)), note: { why: 'the answer to this is lost' } }),
    });
    await lost;
    breakOff();

    expect(await line.closed(run)).toBe('final');
    await unharmed(run);
  });
});

describe('a save', () => {
  /** Until the server ends a session that has idled in its transaction for too long. */
  const idles: AnyStage = async (context) => {
    const result = await leave(context);
    return { ...result, save: () => new Promise(() => undefined) };
  };

  it('fails the stage if it loses its connection every time, and is not taken for an outage', async () => {
    const run = await walk({ work: (context) => (context.attempt === 1 ? idles(context) : leave(context)) });

    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['work error', 'work done', 'close done']);
    expect((await tasksOf(stack.pool, run.itemId)).find((task) => task.stage === 'work')).toMatchObject({
      errors: 1,
      crashes: 0,
    });
  });
});
