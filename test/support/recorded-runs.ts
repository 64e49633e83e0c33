import { randomUUID } from 'node:crypto';
import { AppError } from '../../src/core/errors.js';
import type { Pipeline } from '../../src/core/pipeline.js';
import { type RunRef, workflowIdOf } from '../../src/core/run.js';
import { cancelItem, pauseItem, rescueItem, resumeItem } from '../../src/db/spine/control.js';
import { decideItem } from '../../src/db/spine/decide-item.js';
import { gate } from './barrier.js';
import { itemOf } from './facts.js';
import { historyOf } from './history.js';
import { ROOT } from './spine.js';
import { brief, reviewed, several, spreadAll, spreadLast, straight } from './tables.js';
import { until } from './until.js';
import { fails, feeds, leave, type Line, type Script, type Stack, untilAborted } from './worker.js';

/** One run for every way through the workflow. Their histories are kept in test/histories and replayed: a change of the
 *  workflow that a run on its way would not survive is seen there. */
export const RECORDED_RUNS: Readonly<Record<string, (stack: Stack) => Promise<RunRef>>> = {
  plain: (stack) => play(stack, straight, {}),
  retried: (stack) => play(stack, straight, { write: fails(new Error('boom'), [1, 2]) }),
  left: (stack) => play(stack, several, { judge: fails(new AppError('bad_input', 'no verdict')) }),
  'fan-out': (stack) => play(stack, spreadLast, { list: feeds(5), split: feeds(2) }),
  short: (stack) => play(stack, brief, { look: fails(new Error('boom'), [1], 'other') }),
  'continued-as-new': continued,
  decided,
  superseded,
  'hold-lifted': holdLifted,
  'hold-expired': holdExpired,
  // The first was recorded before a run asked its row after a held unit, and the second since.
  'hold-in-fan-out': holdInFanOut,
  'hold-in-fan-out-asked': holdInFanOut,
  'cancelled-in-stage': (stack) => cancelled(stack, straight, 'read', {}),
  'cancelled-in-fan-out': (stack) => cancelled(stack, spreadAll, 'upload', { prepare: feeds(6) }),
  'cancelled-in-wait': cancelledInWait,
  'item-cancelled': itemCancelled,
};

async function working(stack: Stack, table: Pipeline): Promise<Line> {
  const line = stack.line(table);
  await line.work();
  return line;
}

async function play(stack: Stack, table: Pipeline, script: Script): Promise<RunRef> {
  const line = await working(stack, table);
  const run = await line.start(script);
  await line.closed(run);
  return run;
}

async function continued(stack: Stack): Promise<RunRef> {
  const line = await working(stack, spreadLast);
  const run = await line.insert({ list: feeds(3), split: feeds(3) });
  await stack.engine.start({ ...run, unitsPerRun: 3 });
  await line.closed(run);
  return run;
}

const doubtful: Script = { judge: (context) => leave(context, 'concerns') };

async function awaiting(stack: Stack, line: Line): Promise<RunRef> {
  const run = await line.start(doubtful);
  await until('a decision is awaited', async () => (await itemOf(stack.pool, run.itemId)).state === 'NEEDS_REVIEW');
  return run;
}

async function decided(stack: Stack): Promise<RunRef> {
  const line = await working(stack, reviewed);
  const run = await awaiting(stack, line);
  for (const outcome of ['escalate', 'approve']) {
    const request = { itemId: run.itemId, actor: ROOT, id: randomUUID(), outcome };
    await stack.engine.wake(await decideItem(stack.limited, line.find, request));
  }
  await line.closed(run);
  return run;
}

async function superseded(stack: Stack): Promise<RunRef> {
  const line = await working(stack, reviewed);
  const run = await awaiting(stack, line);
  await rescueItem(stack.limited, line.find, { itemId: run.itemId, actor: ROOT });
  await stack.engine.wake(run);
  await line.closed(run);
  return run;
}

async function waits(stack: Stack, run: RunRef): Promise<void> {
  await until('the run waits', async () =>
    (await historyOf(stack.temporal.client, run)).types.includes('TIMER_STARTED'),
  );
}

async function resume(stack: Stack, line: Line, { itemId }: RunRef): Promise<void> {
  await stack.engine.wake(await resumeItem(stack.limited, line.find, { itemId, actor: ROOT }));
}

async function holdLifted(stack: Stack): Promise<RunRef> {
  const line = await working(stack, straight);
  const run = await line.insert();
  await pauseItem(stack.limited, line.find, { itemId: run.itemId, actor: ROOT, until: 'infinity' });
  await stack.engine.start(run);
  await waits(stack, run);
  await resume(stack, line, run);
  await line.closed(run);
  return run;
}

async function holdExpired(stack: Stack): Promise<RunRef> {
  const line = await working(stack, brief);
  const run = await line.insert({ look: (context) => leave(context, 'known') });
  await pauseItem(stack.limited, line.find, { itemId: run.itemId, actor: ROOT, until: new Date(Date.now() + 2_000) });
  await stack.engine.start(run);
  await line.closed(run);
  return run;
}

async function holdInFanOut(stack: Stack): Promise<RunRef> {
  const line = await working(stack, spreadAll);
  const run = await line.start({
    prepare: feeds(6),
    async upload(context) {
      const request = { itemId: context.item.id, actor: ROOT, until: 'infinity' } as const;
      if (context.unit === 'unit-1') await pauseItem(stack.limited, line.find, request);
      return leave(context);
    },
  });
  await waits(stack, run);
  await resume(stack, line, run);
  await line.closed(run);
  return run;
}

/** By hand, in the Temporal Web UI for example. */
async function cancelByHand(stack: Stack, line: Line, run: RunRef): Promise<RunRef> {
  await stack.temporal.client.workflow.getHandle(workflowIdOf(run)).cancel();
  await line.closed(run);
  return run;
}

async function cancelled(stack: Stack, table: Pipeline, stage: string, script: Script): Promise<RunRef> {
  const line = await working(stack, table);
  const started = gate();
  const run = await line.start({ ...script, [stage]: untilAborted(started.open) });
  await started.opened;
  return cancelByHand(stack, line, run);
}

async function cancelledInWait(stack: Stack): Promise<RunRef> {
  const line = await working(stack, reviewed);
  return cancelByHand(stack, line, await awaiting(stack, line));
}

async function itemCancelled(stack: Stack): Promise<RunRef> {
  const line = await working(stack, straight);
  const started = gate();
  const run = await line.start({ read: untilAborted(started.open) });
  await started.opened;
  const changed = await cancelItem(stack.limited, line.find, { itemId: run.itemId, actor: ROOT });
  await stack.engine.end(changed);
  await line.closed(run);
  return run;
}
