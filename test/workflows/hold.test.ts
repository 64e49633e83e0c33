import { describe, expect, it } from 'vitest';
import { pauseItem, resumeItem } from '../../src/db/spine/control.js';
import type { RunRef } from '../../src/core/run.js';
import { attemptsOf, effectsOf, itemOf, taskOf } from '../support/facts.js';
import { historyOf } from '../support/history.js';
import { ROOT } from '../support/spine.js';
import { brief, spreadAll, straight } from '../support/tables.js';
import { until } from '../support/until.js';
import { fails, feeds, leave, type Line, useStack } from '../support/worker.js';

const stack = useStack();

async function pause(line: Line, itemId: string, until: Date | 'infinity'): Promise<void> {
  await pauseItem(stack.limited, line.find, { itemId, actor: ROOT, until });
}

/** As the API does it: the row first, then the wake. */
async function resume(line: Line, itemId: string): Promise<void> {
  await stack.engine.wake(await resumeItem(stack.limited, line.find, { itemId, actor: ROOT }));
}

/** The run has been told to wait, and does. */
async function waits(run: RunRef): Promise<void> {
  await until('the run waits for a time or a wake', async () =>
    (await historyOf(stack.temporal.client, run)).types.includes('TIMER_STARTED'),
  );
}

/** An item whose run waits until somebody resumes it. */
async function pausedForGood() {
  const line = stack.line(straight);
  await line.work();
  const run = await line.insert();
  await pause(line, run.itemId, 'infinity');
  await stack.engine.start(run);
  await waits(run);
  return { line, run };
}

function inMs(ms: number): Date {
  return new Date(Date.now() + ms);
}

describe.concurrent('a paused item', () => {
  it('is tried again by Temporal when the pause is short, and no try is spent on it', async () => {
    const line = stack.line(straight);
    await line.work();
    const run = await line.insert({ check: fails(new Error('boom'), [1], 'good') });
    await pause(line, run.itemId, inMs(2_000));
    await stack.engine.start(run);

    expect(await line.closed(run)).toBe('final');
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'DONE' });
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['read done', 'check error', 'check done', 'write done']);
    expect(await taskOf(stack.pool, run.itemId, 'read')).toMatchObject({ attempt: 1, errors: 0, crashes: 0 });
    expect((await historyOf(stack.temporal.client, run)).types).not.toContain('TIMER_STARTED');
  });

  it('is waited for by the run when the pause is long, and goes on at once when it is resumed', async () => {
    const { line, run } = await pausedForGood();
    expect(await effectsOf(stack.pool, run.itemId)).toEqual([]);

    await resume(line, run.itemId);

    expect(await line.closed(run)).toBe('final');
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 read', '1 check', '1 write']);
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ wakeAfter: null });
  });

  it('is left alone until it is resumed, however often its run is woken', async () => {
    const { line, run } = await pausedForGood();

    for (const times of [2, 3]) {
      await stack.engine.wake(run);
      await until('the run has asked and waits again', async () => {
        const { types } = await historyOf(stack.temporal.client, run);
        return types.filter((type) => type === 'TIMER_STARTED').length >= times;
      });
    }
    expect(await effectsOf(stack.pool, run.itemId)).toEqual([]);

    await resume(line, run.itemId);
    expect(await line.closed(run)).toBe('final');
  });

  it('holds its short stages in the run, however short the pause', async () => {
    const line = stack.line(brief);
    await line.work();
    const run = await line.insert({ look: (context) => leave(context, 'known') });
    // So short that Temporal would try a longer stage again, and long enough for a run that is slow to begin.
    await pause(line, run.itemId, inMs(25_000));
    await stack.engine.start(run);
    await waits(run);

    await resume(line, run.itemId);

    expect(await line.closed(run)).toBe('final');
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['look done']);
  });

  it('holds the units that have not begun', async () => {
    const line = stack.line(spreadAll);
    await line.work();
    const run = await line.start({
      prepare: feeds(8),
      async upload(context) {
        if (context.unit === 'unit-1') await pause(line, context.item.id, 'infinity');
        return leave(context);
      },
    });
    await waits(run);
    const before = await effectsOf(stack.pool, run.itemId);
    expect(before).not.toContain('1 finish');
    expect(before.length).toBeLessThan(1 + 8);

    await resume(line, run.itemId);

    expect(await line.closed(run)).toBe('final');
    expect(new Set(await effectsOf(stack.pool, run.itemId)).size).toBe(1 + 8 + 1);
    expect(await effectsOf(stack.pool, run.itemId)).toHaveLength(1 + 8 + 1);
  });
});

describe.concurrent('a pipeline on hold', () => {
  async function hold(line: Line, seconds: number): Promise<void> {
    await stack.pool.query(
      `INSERT INTO holds (pipeline, kind, until, reason, set_by) VALUES ($1, 'pause', now() + $2 * interval '1 second', 'test', 'root')`,
      [line.table().name, seconds],
    );
  }

  it('begins nothing until the hold is over', async () => {
    const line = stack.line(straight);
    await line.work();
    await hold(line, 2);
    const run = await line.start();

    expect(await line.closed(run)).toBe('final');
    const { rows } = await stack.pool.query<{ early: boolean }>(
      `SELECT a.started_at < h.until AS early FROM attempts a, holds h WHERE a.item_id = $1 AND h.pipeline = $2`,
      [run.itemId, line.table().name],
    );
    expect(rows).toEqual([{ early: false }, { early: false }, { early: false }]);
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['read done', 'check done', 'write done']);
  });

  it('makes runs wait for a long one, and they go on when it is lifted and they are woken', async () => {
    const line = stack.line(straight);
    await line.work();
    await hold(line, 3_600);
    const runs = [await line.start(), await line.start()];
    for (const run of runs) await waits(run);

    await stack.pool.query('DELETE FROM holds WHERE pipeline = $1', [line.table().name]);
    for (const run of runs) await stack.engine.wake(run);

    for (const run of runs) expect(await line.closed(run)).toBe('final');
  });
});
