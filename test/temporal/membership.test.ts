import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nameIn } from '../../src/core/installation.js';
import { type RunRef, workflowIdOf } from '../../src/core/run.js';
import { AppError } from '../../src/core/errors.js';
import type { Engine } from '../../src/ports/engine.js';
import { createTemporalEngine } from '../../src/temporal/engine.js';
import { attemptsOf } from '../support/facts.js';
import { straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { type Line, useStack } from '../support/worker.js';

const stack = useStack();

/** The engine of one of several installations in the namespace of the tests. */
function engineOf(id: string, name = ''): Engine {
  return createTemporalEngine(stack.temporal.client, { membership: { name, id: () => id } });
}

function handleOf(run: RunRef, name = '') {
  return stack.temporal.client.workflow.getHandle(nameIn(name, workflowIdOf(run)));
}

async function openRunsOf(engine: Engine, line: Line): Promise<string[]> {
  const found: string[] = [];
  for await (const { itemId } of engine.openRuns(line.table().name)) found.push(itemId);
  return found;
}

describe('a run of another installation under the id of our item, as in a copied database', () => {
  it('is neither ended nor taken for ours', async () => {
    const line = stack.line(straight);
    const run = await line.insert();
    const [ours, theirs] = [engineOf(randomUUID()), engineOf(randomUUID())];
    await theirs.start(run);

    await ours.end(run);
    await ours.terminate(run, 'it is not ours');

    // A run that is asked to end goes on until a worker reads it.
    expect((await handleOf(run).describe()).raw.workflowExtendedInfo?.cancelRequested).toBe(false);
    expect(await ours.describe(run)).toEqual({ is: 'gone', how: 'foreign' });
    expect(await theirs.describe(run)).toEqual({ is: 'alive', wedgedBy: null });
    await until('the run is listed', async () => (await openRunsOf(theirs, line)).length === 1);
    expect(await openRunsOf(ours, line)).toEqual([]);
    expect(await ours.findRuns([run])).toEqual(new Map());
    expect(await theirs.findRuns([run])).toEqual(new Map([[workflowIdOf(run), { is: 'alive' }]]));
    await theirs.end(run);
    await line.work();
    expect(await line.closed(run)).toBe('CANCELLED');
  });

  it('is not there for an installation with a name', async () => {
    const line = stack.line(straight);
    const run = await line.insert();
    const [plain, named] = [engineOf(randomUUID()), engineOf(randomUUID(), 'blue')];
    await plain.start(run);
    expect(await named.describe(run)).toEqual({ is: 'gone', how: 'never_existed' });

    await named.start(run);
    await named.end(run);

    expect(await plain.describe(run)).toEqual({ is: 'alive', wedgedBy: null });
    expect((await handleOf(run, 'blue').describe()).taskQueue).toBe(`blue.${run.pipeline}`);
    await until('the named run is listed', async () => (await openRunsOf(named, line)).length === 1);
    expect(await openRunsOf(plain, line)).toEqual([run.itemId]);
    expect(await named.findRuns([run])).toEqual(new Map([[workflowIdOf(run), { is: 'alive' }]]));
  });
});

describe('a rolling upgrade from a version without the id', () => {
  it('takes the run that an older API has started for ours, and starts no second run', async () => {
    const line = stack.line(straight);
    const run = await line.start();
    const newer = engineOf(randomUUID());

    await newer.start(run);
    expect(await newer.describe(run)).toEqual({ is: 'alive', wedgedBy: null });
    await line.work({ membership: { name: '', id: randomUUID() } });

    expect(await line.closed(run)).toBe('final');
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['read done', 'check done', 'write done']);
  });

  it('lets an older worker walk a run that a newer API has started', async () => {
    const line = stack.line(straight);
    const run = await line.insert();
    await engineOf(randomUUID()).start(run);
    await stack.engine.start(run);
    await line.work();

    expect(await line.closed(run)).toBe('final');
  });
});

describe('a worker of another installation', () => {
  it('refuses the run’s tasks and learns of it, and the run goes on with its own worker', async () => {
    const line = stack.line(straight);
    const run = await line.insert();
    const [own, other] = [randomUUID(), randomUUID()];
    let met = 0;
    const foreign = await line.work({ membership: { name: '', id: other, onForeign: () => (met += 1) } });
    await engineOf(own).start(run);
    await until('the worker has refused a task', () => Promise.resolve(met > 0));
    expect(await line.status(run)).toBe('RUNNING');
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual([]);

    await foreign.stop();
    await line.work({ membership: { name: '', id: own } });

    expect(await line.closed(run)).toBe('final');
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['read done', 'check done', 'write done']);
  });

  it('that has no such item, of a version without the id, leaves the run alone and reports it once a day', async () => {
    const line = stack.line(straight);
    const itemId = randomUUID();
    const run = { ...(await line.insert()), itemId };
    await stack.engine.start(run);
    await line.work();
    const told = async () => {
      const { rows } = await stack.pool.query<{ kind: string; sentence: string }>(
        'SELECT kind, sentence FROM outbox WHERE pipeline = $1',
        [run.pipeline],
      );
      return rows;
    };
    await until('the run is reported', async () => (await told()).length > 0);
    const isTriedAgain = async () =>
      (await handleOf(run).describe()).raw.pendingActivities?.some(({ attempt }) => (attempt ?? 0) > 2) ?? false;
    await until('the task is tried again', isTriedAgain);

    expect(await line.status(run)).toBe('RUNNING');
    expect(await told()).toEqual([
      {
        kind: 'run_without_item',
        sentence: `A worker was given a task of the run ${workflowIdOf(run)}, whose item this database does not have. The run is left as it is.`,
      },
    ]);
    await handleOf(run).terminate('by the test');
  });
});

it('an engine makes no call while it is not known whose namespace this is', async () => {
  const line = stack.line(straight);
  const run = await line.insert();
  const refuse = (): never => {
    throw new AppError('engine_unavailable', 'not known yet');
  };
  const engine = createTemporalEngine(stack.temporal.client, { membership: { name: '', id: refuse } });

  for (const call of [engine.start(run), engine.wake(run), engine.end(run), engine.describe(run)]) {
    await expect(call).rejects.toMatchObject({ code: 'engine_unavailable' });
  }
  expect(await line.status(run)).toBe('NONE');
});
