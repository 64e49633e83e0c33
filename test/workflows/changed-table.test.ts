import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { definePipeline, type DoesRow, fanOut, type Pipeline, stage } from '../../src/core/pipeline.js';
import type { RunRef } from '../../src/core/run.js';
import { decideItem } from '../../src/db/spine/decide-item.js';
import { gate } from '../support/barrier.js';
import { attemptsOf, effectsOf, movesOf, tasksOf } from '../support/facts.js';
import { historyOf } from '../support/history.js';
import { ROOT } from '../support/spine.js';
import { until } from '../support/until.js';
import { feeds, leave, type Line, unitsUpTo, useStack } from '../support/worker.js';

const stack = useStack();

const options = { tries: 3, within: '1m', spent: { move: 'FAILED' } } as const;
const upload = (width: number) => fanOut('upload', { ...options, width, needs: 'all' });

/** A person is asked, then everything is done in one state; what is done there is the argument. */
function tableDoing(does: DoesRow<'DONE' | 'FAILED'>): Pipeline {
  return definePipeline({
    name: 'changing',
    start: 'ASKING',
    sweep: { every: '10s', staleAfter: '5s', stuckAfter: '15s' },
    rescue: { budget: 3, backoff: ['2s'], budgetResetAfter: '24h', oldestRescued: '7d', exhausted: 'FAILED' },
    cancelled: 'FAILED',
    states: {
      ASKING: { awaits: 'reviewer', then: { go: 'WORKING', stop: 'FAILED' } },
      WORKING: does,
      DONE: { ends: 'done' },
      FAILED: { ends: 'failed' },
    },
  });
}

const then = { done: 'DONE' } as const;
const before = tableDoing({
  does: [stage('list', options), upload(2), stage('tidy', options), stage('close', options)],
  then,
});

/** The table that takes its place while items wait, and the stages they go through then. */
const changes: [string, Pipeline, string[]][] = [
  [
    'a stage was put in front of another',
    tableDoing({
      does: [
        stage('list', options),
        upload(2),
        stage('check', options),
        stage('tidy', options),
        stage('close', options),
      ],
      then,
    }),
    ['list', 'upload', 'check', 'tidy', 'close'],
  ],
  [
    'stages changed places',
    tableDoing({ does: [stage('list', options), upload(2), stage('close', options), stage('tidy', options)], then }),
    ['list', 'upload', 'close', 'tidy'],
  ],
  [
    'a stage ahead was taken out',
    tableDoing({ does: [stage('list', options), upload(2), stage('close', options)], then }),
    ['list', 'upload', 'close'],
  ],
  [
    'stages became short',
    tableDoing({
      does: [
        stage('list', { ...options, within: '2s', short: true }),
        upload(2),
        stage('tidy', options),
        stage('close', { ...options, within: '2s', short: true }),
      ],
      then,
    }),
    ['list', 'upload', 'tidy', 'close'],
  ],
  [
    'the fan-out became wider',
    tableDoing({ does: [stage('list', options), upload(6), stage('tidy', options), stage('close', options)], then }),
    ['list', 'upload', 'tidy', 'close'],
  ],
];

async function decide(line: Line, itemId: string): Promise<void> {
  const changed = await decideItem(stack.limited, line.find, { itemId, actor: ROOT, id: randomUUID(), outcome: 'go' });
  await stack.engine.wake(changed);
}

/** The stages that left an effect, in the order they began to. */
async function stagesOf(run: RunRef): Promise<string[]> {
  const effects = await effectsOf(stack.pool, run.itemId);
  return [...new Set(effects.map((effect) => effect.split(' ')[1] ?? ''))];
}

async function unbroken(run: RunRef): Promise<void> {
  expect((await historyOf(stack.temporal.client, run)).taskFailures).toEqual([]);
  expect((await tasksOf(stack.pool, run.itemId)).filter(({ errors, crashes }) => errors + crashes > 0)).toEqual([]);
}

describe.concurrent('an item that awaits a decision while the table changes', () => {
  it.each(changes)('goes on by the new one: %s', async (_, after, stages) => {
    const line = stack.line(before);
    const old = await line.work();
    const run = await line.start({ list: feeds(6) });
    // Waiting, and known to the old worker.
    await until('the run has begun', async () =>
      (await historyOf(stack.temporal.client, run)).types.includes('WORKFLOW_TASK_COMPLETED'),
    );
    line.alter(after);
    await Promise.all([old.stop(), line.work()]);

    await decide(line, run.itemId);

    expect(await line.closed(run)).toBe('final');
    expect(await movesOf(stack.pool, run.itemId)).toEqual(['>ASKING', 'ASKING>WORKING', 'WORKING>DONE']);
    expect(await stagesOf(run)).toEqual(stages);
    expect(await effectsOf(stack.pool, run.itemId)).toHaveLength(stages.length + 5);
    await unbroken(run);
  });
});

describe.concurrent('an item that is on its way while the table changes', () => {
  it('goes on in the middle of a fan-out that became wider, no unit twice', async () => {
    const line = stack.line(before);
    const old = await line.work({ graceMs: 30_000 });
    const half = gate();
    const run = await line.start({
      list: feeds(12),
      async upload(context) {
        if (Number(context.unit.slice(5)) > 6) half.open();
        return leave(context);
      },
    });
    await decide(line, run.itemId);
    await half.opened;
    line.alter(changes.at(-1)?.[1] ?? before);
    await Promise.all([old.stop(), line.work()]);

    expect(await line.closed(run)).toBe('final');
    const uploads = (await effectsOf(stack.pool, run.itemId)).filter((effect) => effect.includes('upload'));
    expect(uploads.sort()).toEqual(
      unitsUpTo(12)
        .map((unit) => `1 upload ${unit}`)
        .sort(),
    );
    await unbroken(run);
  });

  it('leaves out a stage that it was told to do and that is there no more', async () => {
    const line = stack.line(before);
    const old = await line.work({ graceMs: 60_000 });
    const begun = gate();
    const stopping = gate();
    const run = await line.start({
      list: feeds(0),
      async tidy(context) {
        begun.open();
        await stopping.opened;
        return leave(context);
      },
    });
    await decide(line, run.itemId);
    await begun.opened;
    // Its last commit says `close`, which the next worker has never heard of.
    const stopped = old.stop();
    stopping.open();
    await stopped;
    line.alter(tableDoing({ does: [stage('list', options), upload(2), stage('tidy', options)], then }));
    await line.work();

    expect(await line.closed(run)).toBe('final');
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['list done', 'tidy done']);
    expect((await historyOf(stack.temporal.client, run)).scheduled).toContain('close');
    await unbroken(run);
  });
});
