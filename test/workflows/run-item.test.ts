import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.js';
import { retryItem } from '../../src/db/spine/control.js';
import { decideItem } from '../../src/db/spine/decide-item.js';
import { leaveRest } from '../../src/db/spine/leave-rest.js';
import type { Pipeline } from '../../src/core/pipeline.js';
import type { AnyStage } from '../../src/ports/stage.js';
import { attemptsOf, effectsOf, itemOf, movesOf, tasksOf, trailFaults } from '../support/facts.js';
import { historyOf } from '../support/history.js';
import { ADA, ROOT } from '../support/spine.js';
import {
  admitting,
  batched,
  brief,
  reopened,
  resting,
  reviewed,
  several,
  spreadAll,
  spreadAny,
  spreadAsked,
  spreadLast,
  straight,
} from '../support/tables.js';
import { until } from '../support/until.js';
import { fails, feeds, leave, type Line, unitsUpTo, useStack } from '../support/worker.js';

const stack = useStack();

/** Trying again can't help: the tries are spent at once. */
const spent = fails(new AppError('bad_input', 'the file is torn'));

function spentFor(unit: string): AnyStage {
  return (context) => (context.unit === unit ? spent(context) : leave(context));
}

/** One worker a table, shared by its tests: what a stage does is each item's own. */
const lines = new Map<Pipeline, Promise<Line>>();

function working(table: Pipeline): Promise<Line> {
  const line = lines.get(table) ?? atWork(table);
  lines.set(table, line);
  return line;
}

async function atWork(table: Pipeline): Promise<Line> {
  const line = stack.line(table);
  await line.work();
  return line;
}

async function inState(itemId: string, state: string): Promise<void> {
  await until(`the item is in ${state}`, async () => (await itemOf(stack.pool, itemId)).state === state);
}

/** As the API does it: the row first, then the wake. */
async function decide(line: Line, itemId: string, outcome: string): Promise<void> {
  const changed = await decideItem(stack.limited, line.find, { itemId, actor: ROOT, id: randomUUID(), outcome });
  await stack.engine.wake(changed);
}

describe.concurrent('one stage per state', () => {
  it('is walked to its end, one effect a stage', async () => {
    const line = await working(straight);
    const run = await line.start();

    expect(await line.closed(run)).toBe('final');
    expect(await movesOf(stack.pool, run.itemId)).toEqual([
      '>READING',
      'READING>CHECKING',
      'CHECKING>WRITING',
      'WRITING>DONE',
    ]);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 read', '1 check', '1 write']);
    expect(await trailFaults(stack.pool, run.itemId)).toEqual([]);
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'DONE', started: true, runEndedAt: null });
    const { scheduled, taskFailures } = await historyOf(stack.temporal.client, run);
    expect(scheduled).toEqual(['read', 'check', 'write']);
    expect(taskFailures).toEqual([]);
  });

  it('is tried again only when a frozen worker asks for no more work: the shorter the heartbeat timeout, the later', async () => {
    const line = await working(straight);
    const run = await line.start();

    expect(await line.closed(run)).toBe('final');
    // Two seconds of heartbeat timeout in the last stage, four in the others.
    // However often Temporal has handed a stage out, for instance because it is held, a missed beat costs two seconds more at most.
    expect((await historyOf(stack.temporal.client, run)).retriesMs).toEqual([
      [200, 2_000],
      [200, 2_000],
      [700, 2_000],
    ]);
  });

  it('goes on at the level that its item was given while a stage ran', async () => {
    const line = await working(straight);
    const run = await line.start({
      read: async (context) => {
        await stack.pool.query('UPDATE items SET priority = 100 WHERE id = $1', [context.item.id]);
        return leave(context);
      },
    });

    expect(await line.closed(run)).toBe('final');
    const { levels } = await historyOf(stack.temporal.client, run);
    expect(levels.slice(1)).toEqual([1, 1]);
  });

  it('goes where the outcome says', async () => {
    const line = await working(straight);
    const empty = await line.start({ read: (context) => leave(context, 'empty') });
    const bad = await line.start({ check: (context) => leave(context, 'bad') });

    expect(await line.closed(empty)).toBe('final');
    expect(await movesOf(stack.pool, empty.itemId)).toEqual(['>READING', 'READING>DONE']);
    expect(await line.closed(bad)).toBe('final');
    expect(await movesOf(stack.pool, bad.itemId)).toEqual(['>READING', 'READING>CHECKING', 'CHECKING>FAILED']);
  });
});

describe.concurrent('several stages in one state', () => {
  it('are done in order, without a move between them', async () => {
    const line = await working(several);
    const run = await line.start();

    expect(await line.closed(run)).toBe('final');
    expect(await movesOf(stack.pool, run.itemId)).toEqual(['>WORKING', 'WORKING>DONE']);
    const stages = ['extract', 'enrich', 'judge', 'remember', 'summarise'];
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(stages.map((stage) => `1 ${stage}`));
  });

  it('go on without one that may fail, the last one too', async () => {
    const line = await working(several);
    const run = await line.start({ enrich: spent, summarise: spent });

    expect(await line.closed(run)).toBe('final');
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'DONE' });
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 extract', '1 judge', '1 remember']);
    const failed = (await tasksOf(stack.pool, run.itemId)).filter(({ status }) => status === 'failed');
    expect(failed.map(({ stage }) => stage)).toEqual(['enrich', 'summarise']);
  });

  it('fail the item with a critical one', async () => {
    const line = await working(several);
    const run = await line.start({ remember: spent });

    expect(await line.closed(run)).toBe('final');
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({
      state: 'FAILED',
      errorStage: 'remember',
      errorClass: 'BAD_INPUT',
      errorMessage: 'the file is torn',
    });
    expect(await effectsOf(stack.pool, run.itemId)).not.toContain('1 summarise');
  });

  it('end the run and leave the item where it is, for the sweep', async () => {
    const line = await working(several);
    const run = await line.start({ judge: spent });

    expect(await line.closed(run)).toBe('left');
    const item = await itemOf(stack.pool, run.itemId);
    expect(item).toMatchObject({ state: 'WORKING', endedAt: null, errorStage: 'judge', epoch: 1 });
    expect(item.runEndedAt).toBeInstanceOf(Date);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 extract', '1 enrich']);
  });
});

describe.concurrent('a fan-out', () => {
  it('runs every unit once, no more than its width at a time, then goes on', async () => {
    const line = await working(spreadAll);
    let inFlight = 0;
    let most = 0;
    const upload: AnyStage = async (context) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      await until('as many as may are in flight', () => most >= 4);
      inFlight -= 1;
      return leave(context);
    };
    const run = await line.start({ prepare: feeds(10), upload });

    expect(await line.closed(run)).toBe('final');
    expect(most).toBe(4);
    const effects = await effectsOf(stack.pool, run.itemId);
    expect(effects[0]).toBe('1 prepare');
    expect(effects.slice(1, -1).sort()).toEqual(
      unitsUpTo(10)
        .map((unit) => `1 upload ${unit}`)
        .sort(),
    );
    expect(effects.at(-1)).toBe('1 finish');
  });

  it('fails the item with one unit where all are needed, after its siblings have ended', async () => {
    const line = await working(spreadAll);
    const run = await line.start({ prepare: feeds(6), upload: spentFor('unit-2') });

    expect(await line.closed(run)).toBe('final');
    const item = await itemOf(stack.pool, run.itemId);
    expect(item).toMatchObject({
      state: 'FAILED',
      endReason: 'UNITS_FAILED',
      errorStage: 'upload',
      errorClass: 'BAD_INPUT',
    });
    expect(item.errorMessage).toContain('1 units failed: unit-2');
    const uploads = (await effectsOf(stack.pool, run.itemId)).filter((line) => line.includes('upload'));
    expect(uploads).toHaveLength(5);
  });

  it('goes on without a failed unit where any will do', async () => {
    const line = await working(spreadAny);
    const run = await line.start({ prepare: feeds(6), upload: spentFor('unit-2') });

    expect(await line.closed(run)).toBe('final');
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'DONE' });
  });

  it('asks the item whether a failed unit may be left behind', async () => {
    const line = await working(spreadAsked);
    const script = {
      prepare: feeds(3),
      upload: spentFor('unit-3'),
      finish: (context) => leave(context, 'partial'),
    } satisfies Record<string, AnyStage>;
    const strict = await line.start(script);
    const lenient = await line.start(script, { allowPartial: true });

    expect(await line.closed(strict)).toBe('final');
    expect(await itemOf(stack.pool, strict.itemId)).toMatchObject({ state: 'FAILED' });
    expect(await line.closed(lenient)).toBe('final');
    expect(await itemOf(stack.pool, lenient.itemId)).toMatchObject({ state: 'DONE_IN_PART' });
  });

  it('is fed from the state before it, stands last in its state, and may have no units', async () => {
    const line = await working(spreadLast);
    const full = await line.start({ list: feeds(3), split: feeds(2) });
    const empty = await line.start({ list: feeds(0), split: feeds(0) });

    for (const run of [full, empty]) {
      expect(await line.closed(run)).toBe('final');
      expect(await movesOf(stack.pool, run.itemId)).toEqual([
        '>LISTING',
        'LISTING>COPYING',
        'COPYING>INDEXING',
        'INDEXING>DONE',
      ]);
    }
    expect(await effectsOf(stack.pool, full.itemId)).toHaveLength(1 + 3 + 1 + 2);
    expect(await effectsOf(stack.pool, empty.itemId)).toEqual(['1 list', '1 split']);
  });
});

describe.concurrent('a state that awaits a decision', () => {
  it('holds the run until a person has decided, twice', async () => {
    const line = await working(reviewed);
    const run = await line.start({ judge: (context) => leave(context, 'concerns') });
    await inState(run.itemId, 'NEEDS_REVIEW');

    await decide(line, run.itemId, 'escalate');
    await decide(line, run.itemId, 'approve');

    expect(await line.closed(run)).toBe('final');
    expect(await movesOf(stack.pool, run.itemId)).toEqual([
      '>JUDGING',
      'JUDGING>NEEDS_REVIEW',
      'NEEDS_REVIEW>SECOND_REVIEW',
      'SECOND_REVIEW>PUBLISHING',
      'PUBLISHING>PUBLISHED',
    ]);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 judge', '1 publish']);
  });

  it('ends the run when the decision ends the item', async () => {
    const line = await working(reviewed);
    const run = await line.start({ judge: (context) => leave(context, 'concerns') });
    await inState(run.itemId, 'NEEDS_REVIEW');

    await decide(line, run.itemId, 'reject');

    expect(await line.closed(run)).toBe('final');
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'REJECTED', wakeAfter: null });
  });
});

describe.concurrent('a final state that is opened again', () => {
  it('is walked by another run in another visit', async () => {
    const line = await working(reopened);
    const first = await line.start();
    expect(await line.closed(first)).toBe('final');

    await retryItem(stack.limited, line.find, { itemId: first.itemId, actor: ADA });
    const second = await line.restart(first.itemId);

    expect(second.epoch).toBe(2);
    expect(await line.closed(second)).toBe('final');
    expect(await effectsOf(stack.pool, first.itemId)).toEqual(['1 work', '1 finish', '2 work', '2 finish']);
    expect(await trailFaults(stack.pool, first.itemId)).toEqual([]);
  });
});

describe.concurrent('a state that admits so many', () => {
  it('never holds more, and in the end lets all through', async () => {
    const line = await working(admitting);
    const most = { HEATING: 0, COOLING: 0 };
    const watch =
      (state: keyof typeof most): AnyStage =>
      async (context) => {
        const { rows } = await stack.pool.query<{ inside: number }>(
          'SELECT count(*)::int AS inside FROM items WHERE pipeline = $1 AND state = $2',
          [line.table().name, state],
        );
        most[state] = Math.max(most[state], rows[0]?.inside ?? 0);
        return leave(context);
      };
    const script = { heat: watch('HEATING'), cool: watch('COOLING') };
    const runs = await Promise.all(Array.from({ length: 5 }, () => line.start(script)));

    for (const run of runs) expect(await line.closed(run)).toBe('final');

    for (const run of runs) expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 heat', '1 cool']);
    expect(most).toEqual({ HEATING: 2, COOLING: 2 });
  });
});

describe.concurrent('a state that rests', () => {
  it('is left by the first claim', async () => {
    const line = await working(resting);
    const run = await line.insert();
    await leaveRest(stack.limited, line.find, { itemId: run.itemId, actor: ADA, outcome: 'confirmed' });
    line.dispatch();

    await until('it is ready', async () => (await itemOf(stack.pool, run.itemId)).state === 'ready');
    expect((await movesOf(stack.pool, run.itemId)).slice(1)).toEqual([
      'registered>queued',
      'queued>converting',
      'converting>storing',
      'storing>ready',
    ]);
  });

  it('wants no run while only an event can move it, and a run that finds it so says that it has ended', async () => {
    const line = await working(batched);
    const run = await line.insert();
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ startAfter: null, started: false });

    await stack.engine.start({ ...run, step: { do: 'next' } });

    expect(await line.closed(run)).toBe('left');
    const item = await itemOf(stack.pool, run.itemId);
    expect(item).toMatchObject({ state: 'active', endedAt: null });
    expect(item.runEndedAt).toBeInstanceOf(Date);
  });
});

describe.concurrent('a short stage', () => {
  it('runs as a local activity, claimed and fenced like any other', async () => {
    const line = await working(brief);
    const run = await line.start({ look: fails(new Error('once'), [1], 'other') });

    expect(await line.closed(run)).toBe('final');
    const { scheduled, local } = await historyOf(stack.temporal.client, run);
    expect(scheduled).toEqual(['work']);
    expect(local).toBeGreaterThanOrEqual(1);
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['look error', 'look done', 'work done']);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(['1 look', '1 work']);
    expect((await tasksOf(stack.pool, run.itemId)).find(({ stage }) => stage === 'look')).toMatchObject({
      fence: 2,
      errors: 1,
      crashes: 0,
    });
  });
});
