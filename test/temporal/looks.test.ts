import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workflowIdOf } from '../../src/core/run.js';
import { executionsOf } from '../support/history.js';
import { spreadAll, straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { feeds, openStack, type Stack } from '../support/worker.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack();
});
afterAll(() => stack.close());

describe('the engine’s answer about a run', () => {
  it('says that it is alive, how it ended, or that it never existed', async () => {
    const line = stack.line(straight);
    const [walked, ended] = [await line.start(), await line.start()];
    expect(await stack.engine.describe(walked)).toEqual({ is: 'alive', wedgedBy: null });

    await stack.temporal.client.workflow.getHandle(workflowIdOf(ended)).terminate('by the test');
    await line.work();
    expect(await line.closed(walked)).toBe('final');

    expect(await stack.engine.describe(walked)).toEqual({ is: 'gone', how: 'completed' });
    expect(await stack.engine.describe(ended)).toEqual({ is: 'gone', how: 'terminated' });
    expect(await stack.engine.describe({ ...ended, epoch: 2 })).toEqual({ is: 'gone', how: 'never_existed' });
  });

  it('tells of many runs at once which are alive and how the others ended, and leaves out runs that never existed', async () => {
    const line = stack.line(straight);
    const [open, ended] = [await line.start(), await line.start()];
    await stack.temporal.client.workflow.getHandle(workflowIdOf(ended)).terminate('by the test');

    const find = () => stack.engine.findRuns([open, ended, { ...open, epoch: 2 }]);
    await until('the index knows it', async () => (await find()).get(workflowIdOf(ended))?.is === 'gone');
    await until('the index knows both', async () => (await find()).size === 2);

    expect(await find()).toEqual(
      new Map([
        [workflowIdOf(open), { is: 'alive' }],
        [workflowIdOf(ended), { is: 'gone', how: 'terminated' }],
      ]),
    );
    expect(await stack.engine.findRuns([])).toEqual(new Map());
  });

  it('takes a run that has continued as new for the run that goes on', async () => {
    const line = stack.line(spreadAll);
    await line.work();
    const run = await line.insert({ prepare: feeds(5) });
    await stack.engine.start({ ...run, unitsPerRun: 3 });
    expect(await line.closed(run)).toBe('final');
    expect(await executionsOf(stack.temporal.client, run)).toHaveLength(2);
    await until('the index knows its end', async () => {
      return (await stack.engine.findRuns([run])).get(workflowIdOf(run))?.is === 'gone';
    });
    expect(await stack.engine.findRuns([run])).toEqual(
      new Map([[workflowIdOf(run), { is: 'gone', how: 'completed' }]]),
    );
  });

  it('lists the open runs of a pipeline', async () => {
    const line = stack.line(straight);
    const runs = [await line.start(), await line.start()];
    await stack.line(straight).start();

    const open = async () => {
      const found: string[] = [];
      for await (const { itemId } of stack.engine.openRuns(line.table().name)) {
        found.push(itemId);
      }
      return found.sort();
    };
    await until('both are listed', async () => (await open()).length === 2);
    expect(await open()).toEqual(runs.map((run) => run.itemId).sort());
  });
});

describe('the engine’s answer about a task queue', () => {
  it('names the pollers and the backlog', async () => {
    const line = stack.line(straight);
    const name = line.table().name;
    expect((await stack.engine.queue(name)).pollers).toEqual([]);

    await line.start();
    await until('the backlog is counted', async () => (await stack.engine.queue(name)).backlog === 1);

    const worker = await line.work();
    await until('the poller is seen', async () =>
      (await stack.engine.queue(name)).pollers.some((each) => each.identity === worker.id),
    );
  });
});

describe('the sticky queue', () => {
  it('is reset for a run that exists, without an error for a run that does not', async () => {
    const run = await stack.line(straight).start();

    await expect(stack.engine.resetSticky(run)).resolves.toBeUndefined();
    await expect(stack.engine.resetSticky({ ...run, epoch: 7 })).resolves.toBeUndefined();
  });
});
