import { beforeAll, describe, expect, it } from 'vitest';
import type { RunRef } from '../../src/core/run.js';
import { pausePipeline, resumePipeline } from '../../src/db/spine/pipeline-pause.js';
import { gate } from '../support/barrier.js';
import { effectsOf, itemOf } from '../support/facts.js';
import { ROOT } from '../support/spine.js';
import { spreadAll, straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { leave, type Line, useStack } from '../support/worker.js';

/** Pauses of a pipeline, its runs on a real Temporal, and a dispatcher. A run that is not woken would sleep for about an hour. */
const stack = useStack();
let line: Line;
let spread: Line;
beforeAll(async () => {
  line = stack.line(straight);
  spread = stack.line(spreadAll);
  await line.work();
  await spread.work();
  line.dispatch();
});

const DAY_MS = 24 * 3_600_000;

function pause(of: Line, forMs: number): Promise<unknown> {
  return pausePipeline(stack.pool, { pipeline: of.table().name, actor: ROOT, reason: 'looking', forMs });
}

function resume(of: Line): Promise<boolean> {
  return resumePipeline(stack.pool, { pipeline: of.table().name, actor: ROOT });
}

async function isHeld({ itemId }: RunRef): Promise<boolean> {
  const { rows } = await stack.pool.query('SELECT 1 FROM items WHERE id = $1 AND held_by IS NOT NULL', [itemId]);
  return rows.length > 0;
}

async function heldRun(): Promise<RunRef> {
  const run = await line.start();
  await until('the item is held', () => isHeld(run));
  return run;
}

describe('a run that sleeps because its pipeline is paused', () => {
  it('goes on after a shorter pause that replaced the first has ended', async () => {
    await pause(line, DAY_MS);
    const run = await heldRun();

    await pause(line, 500);

    expect(await line.closed(run)).toBe('final');
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'DONE' });
  });

  it('goes on after a pause, a resume and a short pause in quick succession', async () => {
    await pause(line, DAY_MS);
    const runs = [await heldRun(), await heldRun(), await heldRun()];

    await resume(line);
    await pause(line, 300);

    for (const run of runs) expect(await line.closed(run)).toBe('final');
  });

  it('goes on when the pause was lifted while another unit of its item was at work', async () => {
    spread.dispatch();
    const [first, others] = [gate(), gate()];
    const run = await spread.start({
      prepare: (context) => leave(context, 'done', ['a', 'b', 'c', 'd', 'e']),
      upload: async (context) => {
        if (context.unit !== 'e') await (context.unit === 'a' ? first : others).opened;
        return leave(context);
      },
    });
    await until('four units are at work', async () => (await runningUnits(run)) === 4);
    await pause(spread, DAY_MS);
    others.open();
    await until('the fifth unit is held', () => isHeld(run));
    await resume(spread);
    await until('the item was released', async () => !(await isHeld(run)));

    first.open();

    expect(await spread.closed(run)).toBe('final');
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'DONE' });
    expect(await effectsOf(stack.pool, run.itemId)).toHaveLength(7);
  });
});

async function runningUnits({ itemId }: RunRef): Promise<number> {
  const { rows } = await stack.pool.query(
    `SELECT 1 FROM tasks WHERE item_id = $1 AND unit <> '' AND status = 'running'`,
    [itemId],
  );
  return rows.length;
}
