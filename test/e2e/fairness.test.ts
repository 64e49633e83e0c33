import proto from '@temporalio/proto';
import { describe, expect, it } from 'vitest';
import { type RunStart, workflowIdOf } from '../../src/core/run.js';
import { reprioritizeItem } from '../../src/db/spine/control.js';
import { noteAccepted } from '../../src/db/spine/due.js';
import { taskQueueOf } from '../../src/temporal/task-queues.js';
import { ROOT } from '../support/spine.js';
import { straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { leave, type Line, type Script, useStack } from '../support/worker.js';

/** Covers src/temporal/run-priority.ts, src/db/spine/restart.ts and the order in which Temporal hands out what waits. */
const stack = useStack();

const ACTIVITY_QUEUE = proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY;

/** A line whose worker runs one stage at a time. Until `open` is called, its worker is held by an item of nobody's. */
async function queueUp() {
  const line = stack.line(straight);
  const order: string[] = [];
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  await line.work({ slots: 1 });
  let isHeld = false;
  const askStore = (): Promise<unknown> => stack.temporal.client.workflow.count();
  await line.start(
    {
      read: async (context) => {
        isHeld = true;
        await opened;
        return leave(context, 'empty');
      },
    },
    { owner: 'nobody' },
  );
  await until('the worker is held', () => isHeld);

  const add = async (owner: string, priority = 0): Promise<RunStart> => {
    const run = await line.start(noting(order, askStore), { owner, priority });
    await noteAccepted(stack.limited, run);
    await waits(line, run);
    return run;
  };
  const addMany = async (count: number, owner: string): Promise<RunStart[]> => {
    const runs: RunStart[] = [];
    for (let n = 0; n < count; n += 1) runs.push(await add(owner));
    return runs;
  };
  return { line, order, add, addMany, open };
}

/** The item ends after its first stage, so that every entry is an item. The server hands out only tasks that it has read from its store,
 *  and on a busy machine it reads late. So each stage waits for two answers of the same store, and the server comes to read meanwhile. */
function noting(order: string[], askStore: () => Promise<unknown>): Script {
  return {
    read: async (context) => {
      order.push(context.item.id);
      await askStore();
      await askStore();
      return leave(context, 'empty');
    },
  };
}

async function waits(line: Line, run: RunStart): Promise<void> {
  await until('its task waits', async () => {
    if ((await line.status(run)) !== 'RUNNING') return false;
    const { raw } = await stack.temporal.client.workflow.getHandle(workflowIdOf(run)).describe();
    return (raw.pendingActivities ?? []).length > 0;
  });
}

/** A run says that its task waits a moment before the queue has it. `counts`: by level. The server repeats an answer for five seconds. */
async function areQueued(line: Line, counts: Readonly<Record<number, number>>): Promise<void> {
  const { client } = stack.temporal;
  await until(`the queue has ${JSON.stringify(counts)}`, async () => {
    const { statsByPriorityKey } = await client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: taskQueueOf(line.table().name) },
      taskQueueType: ACTIVITY_QUEUE,
      reportStats: true,
    });
    return Object.entries(counts).every(
      ([level, count]) => Number(statsByPriorityKey?.[level]?.approximateBacklogCount ?? 0) >= count,
    );
  });
}

/** An item runs with the first of these if it overtakes the others, and behind nearly all of them if it does not. */
const OTHERS = 20;
const WITH_THE_FIRST = OTHERS / 3;

describe('of the items that wait for a worker', () => {
  it('one owner’s single item runs after a few of another owner’s many, however long the owner’s name', async () => {
    const { line, order, add, addMany, open } = await queueUp();
    await addMany(OTHERS, 'ada');
    const { itemId } = await add('ö'.repeat(50));
    await areQueued(line, { 3: OTHERS });
    open();
    await until('all have run', () => order.length === OTHERS + 1);
    expect(order.indexOf(itemId)).toBeLessThan(WITH_THE_FIRST);
  });

  it('an item of a higher priority overtakes all others', async () => {
    const { line, order, add, addMany, open } = await queueUp();
    const low = await add('eve', -1);
    await addMany(OTHERS, 'ada');
    const { itemId } = await add('ada', 1);
    await areQueued(line, { 2: 1, 4: 1 });
    open();
    await until('all have run', () => order.length === OTHERS + 2);
    expect(order.indexOf(itemId)).toBeLessThan(WITH_THE_FIRST);
    expect(order.at(-1)).toBe(low.itemId);
  });

  it('an item that is given another priority runs at its new place, and its former run is gone', async () => {
    const { line, order, addMany, open } = await queueUp();
    const [first, ...others] = await addMany(OTHERS, 'ada');
    const last = others.at(-1);
    if (!first || !last) throw new Error('some were added');
    for (const [run, priority] of [
      [last, 5],
      [first, -200],
    ] as const) {
      const changed = await reprioritizeItem(stack.limited, line.find, {
        itemId: run.itemId,
        actor: ROOT,
        priority,
        heedsPriorities: true,
      });
      expect(changed).toMatchObject({ restarted: true, epoch: 2 });
      await stack.engine.terminate(run, 'it has another priority');
      await waits(line, await line.restart(run.itemId));
    }
    await areQueued(line, { 2: 1, 5: 1 });
    open();
    await until('all have run', () => order.length === OTHERS);
    expect(order.indexOf(last.itemId)).toBeLessThan(WITH_THE_FIRST);
    expect(order.at(-1)).toBe(first.itemId);
    expect(await line.status(last)).toBe('TERMINATED');
    expect(await line.closed({ ...last, epoch: 2 })).toBe('final');
  });
});
