import { beforeAll, describe, expect, it } from 'vitest';
import { workflowIdOf } from '../../src/core/run.js';
import { cancelItem } from '../../src/db/spine/control.js';
import type { StageContext } from '../../src/ports/stage.js';
import { gate } from '../support/barrier.js';
import { attemptsOf, effectsOf, itemOf, movesOf, taskOf, tasksOf, trailFaults } from '../support/facts.js';
import { ROOT } from '../support/spine.js';
import { brief, reviewed, spreadAll, straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { feeds, leave, type Line, untilAborted, useStack } from '../support/worker.js';

const stack = useStack();
let line: Line;
beforeAll(async () => {
  line = stack.line(straight);
  await line.work();
});

/** A stage that says when it runs and when it was aborted, and why. */
function observed() {
  const started = gate();
  const aborted = gate();
  let at = 0;
  const stage = untilAborted(({ signal }: StageContext) => {
    started.open();
    signal.addEventListener('abort', () => {
      at = performance.now();
      aborted.open();
    });
  });
  return { stage, started: started.opened, aborted: aborted.opened, abortedAt: () => at };
}

/** The stage beats its row every two seconds, and Temporal once a second. */
const PROMPTLY_MS = 4_000;

describe.concurrent('cancelling an item while a stage runs', () => {
  it('aborts the stage when Temporal passes it on, leaves no effect and closes the run', async () => {
    const { stage, started, aborted, abortedAt } = observed();
    const run = await line.start({ read: stage });
    await started;

    const cancelledAt = performance.now();
    const changed = await cancelItem(stack.limited, line.find, { itemId: run.itemId, actor: ROOT });
    await stack.engine.end(changed);
    await aborted;

    expect(abortedAt() - cancelledAt).toBeLessThan(PROMPTLY_MS);
    expect(await line.closed(run)).toBe('CANCELLED');
    expect(await effectsOf(stack.pool, run.itemId)).toEqual([]);
    expect(await movesOf(stack.pool, run.itemId)).toEqual(['>READING', 'READING>CANCELLED']);
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ endReason: 'CANCELLED', runEndedAt: null });
  });

  it('aborts the stage by its row when Temporal was not told', async () => {
    const { stage, started, aborted, abortedAt } = observed();
    const run = await line.start({ read: stage });
    await started;

    const cancelledAt = performance.now();
    await cancelItem(stack.limited, line.find, { itemId: run.itemId, actor: ROOT });
    await aborted;

    expect(abortedAt() - cancelledAt).toBeLessThan(PROMPTLY_MS);
    expect(await line.closed(run)).toBe('final');
    expect(await effectsOf(stack.pool, run.itemId)).toEqual([]);
  });

  it('refuses the result of a stage that did not notice', async () => {
    const started = gate();
    const finish = gate();
    const run = await line.start({
      async read(context) {
        started.open();
        await finish.opened;
        return leave(context);
      },
    });
    await started.opened;

    await cancelItem(stack.limited, line.find, { itemId: run.itemId, actor: ROOT });
    finish.open();

    expect(await line.closed(run)).toBe('final');
    expect(await effectsOf(stack.pool, run.itemId)).toEqual([]);
    expect(await trailFaults(stack.pool, run.itemId)).toEqual([]);
  });
});

describe.concurrent('cancelling the workflow by hand', () => {
  async function cancelByHand(run: Parameters<typeof workflowIdOf>[0]): Promise<void> {
    await stack.temporal.client.workflow.getHandle(workflowIdOf(run)).cancel();
  }

  it('stops the stage, counts nothing against it, and leaves the item with a note that nobody walks it', async () => {
    const { stage, started, aborted } = observed();
    const run = await line.start({ read: stage });
    await started;

    await cancelByHand(run);
    await aborted;

    expect(await line.closed(run)).toBe('CANCELLED');
    const item = await itemOf(stack.pool, run.itemId);
    expect(item).toMatchObject({ state: 'READING', endedAt: null, epoch: 1 });
    expect(item.runEndedAt).toBeInstanceOf(Date);
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['read shutdown']);
    expect(await taskOf(stack.pool, run.itemId, 'read')).toMatchObject({ status: 'waiting', errors: 0, crashes: 0 });
  });

  it('takes effect after a short stage, which it can not stop', async () => {
    const short = stack.line(brief);
    await short.work();
    const started = gate();
    const asked = gate();
    const run = await short.start({
      async look(context) {
        started.open();
        await asked.opened;
        return leave(context, 'other');
      },
      work: untilAborted(),
    });
    await started.opened;

    await cancelByHand(run);
    asked.open();

    expect(await short.closed(run)).toBe('CANCELLED');
    const item = await itemOf(stack.pool, run.itemId);
    expect(item).toMatchObject({ state: 'WORKING', endedAt: null });
    expect(item.runEndedAt).toBeInstanceOf(Date);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 look']);
  });

  it('leaves that note while the run waits for a decision', async () => {
    const review = stack.line(reviewed);
    await review.work();
    const run = await review.start({ judge: (context) => leave(context, 'concerns') });
    await until('a decision is awaited', async () => (await itemOf(stack.pool, run.itemId)).state === 'NEEDS_REVIEW');

    await cancelByHand(run);

    expect(await review.closed(run)).toBe('CANCELLED');
    expect((await itemOf(stack.pool, run.itemId)).runEndedAt).toBeInstanceOf(Date);
  });

  it('leaves that note in the middle of a fan-out', async () => {
    const spread = stack.line(spreadAll);
    await spread.work();
    const { stage, started } = observed();
    const run = await spread.start({ prepare: feeds(6), upload: stage });
    await started;

    await cancelByHand(run);

    expect(await spread.closed(run)).toBe('CANCELLED');
    const item = await itemOf(stack.pool, run.itemId);
    expect(item).toMatchObject({ state: 'PROCESSING', endedAt: null });
    expect(item.runEndedAt).toBeInstanceOf(Date);
    const units = (await tasksOf(stack.pool, run.itemId)).filter(({ unit }) => unit !== '');
    expect(units.map(({ status, attempt }) => [status, attempt])).toEqual([
      ...Array.from({ length: 4 }, () => ['waiting', 1]),
      ...Array.from({ length: 2 }, () => ['waiting', 0]),
    ]);
  });
});
