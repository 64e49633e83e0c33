import { describe, expect, it } from 'vitest';
import { definePipeline, fanOut, stage } from '../../src/core/pipeline.js';
import { effectsOf, itemOf, tasksOf } from '../support/facts.js';
import { executionsOf } from '../support/history.js';
import { spreadAll } from '../support/tables.js';
import { feeds, unitsUpTo, useStack } from '../support/worker.js';

const stack = useStack();

const wide = definePipeline({
  name: 'wide',
  start: 'PROCESSING',
  sweep: spreadAll.sweep,
  rescue: { budget: 3, backoff: ['2s'], budgetResetAfter: '24h', oldestRescued: '7d', exhausted: 'FAILED' },
  cancelled: 'FAILED',
  states: {
    PROCESSING: {
      does: [
        stage('prepare', { tries: 3, within: '1m', spent: { move: 'FAILED' } }),
        fanOut('upload', { tries: 3, within: '1m', width: 50, needs: 'all', spent: { move: 'FAILED' } }),
        stage('finish', { tries: 3, within: '1m', spent: { move: 'FAILED' } }),
      ],
      then: { done: 'DONE' },
    },
    DONE: { ends: 'done' },
    FAILED: { ends: 'failed' },
  },
});

describe('a fan-out of more units than one history should hold', () => {
  it('is gone through by several executions of one run, each unit once', async () => {
    const line = stack.line(wide);
    await line.work();
    const run = await line.insert({ prepare: feeds(130) });
    await stack.engine.start({ ...run, unitsPerRun: 50 });

    expect(await line.closed(run)).toBe('final');
    const effects = await effectsOf(stack.pool, run.itemId);
    expect(effects.slice(1, -1).sort()).toEqual(
      unitsUpTo(130)
        .map((unit) => `1 upload ${unit}`)
        .sort(),
    );
    expect(effects[0]).toBe('1 prepare');
    expect(effects.at(-1)).toBe('1 finish');
    expect((await tasksOf(stack.pool, run.itemId)).filter(({ attempt }) => attempt !== 1)).toEqual([]);
    expect(await itemOf(stack.pool, run.itemId)).toMatchObject({ state: 'DONE', epoch: 1, runEndedAt: null });

    const executions = await executionsOf(stack.temporal.client, run);
    expect(executions.map(({ types }) => types.at(-1))).toEqual([
      'WORKFLOW_EXECUTION_CONTINUED_AS_NEW',
      'WORKFLOW_EXECUTION_COMPLETED',
    ]);
    expect(new Set(executions.map(({ runId }) => runId)).size).toBe(2);
    expect(executions.flatMap(({ taskFailures }) => taskFailures)).toEqual([]);
  });
});
