import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { CanarySettings } from '../../src/domains/canary/core/canary-settings.js';
import type { Pipeline } from '../../src/core/pipeline.js';
import type { RunStart } from '../../src/core/run.js';
import { canaryRow } from '../../src/domains/canary/db/canaries.js';
import { canary } from '../../src/domains/canary/table.js';
import { createTemporalEngine } from '../../src/temporal/engine.js';
import { attemptsOf, effectsOf, taskOf, tasksOf, trailFaults } from '../support/facts.js';
import { historyOf } from '../support/history.js';
import { until } from '../support/until.js';
import { type Line, unitsUpTo, useStack } from '../support/worker.js';
import type { WorkerChild } from '../support/spawn-worker.js';
import { startWorkerChild } from '../support/worker-child.js';

const stack = useStack();
// Processes of their own take seconds to start where others want the cores too.
vi.setConfig({ testTimeout: 180_000 });

/** The canary's heartbeat timeout, and the time that Temporal and a busy machine need on top of it. */
const HEARTBEAT_MS = 2_000;
const SLACK_MS = 4_000;

interface Scene {
  line: Line;
  run: RunStart;
  child: WorkerChild;
  /** Another canary of the same line; its run is not started. */
  plant(settings: Partial<CanarySettings>): Promise<RunStart>;
}

/** A canary whose first attempts are a child's: no other worker is there yet. */
async function onChild(settings: Partial<CanarySettings>, table: Pipeline = canary): Promise<Scene> {
  const line = stack.line(table);
  const child = await startWorkerChild(stack.url, line.table());
  onTestFinished(() => child.end());
  async function plant(wanted: Partial<CanarySettings>): Promise<RunStart> {
    const plain = { stageMs: [0, 0, 0], units: 0, decision: false, faults: [] };
    return line.insert({}, { row: canaryRow({ ...plain, ...wanted }) });
  }
  return { line, child, plant, run: await plant(settings) };
}

async function runsOn({ id }: WorkerChild, itemId: string, stage: string, count = 1): Promise<void> {
  await until(`${stage} runs on the child`, async () => {
    const { rows } = await stack.pool.query(
      `SELECT 1 FROM tasks WHERE item_id = $1 AND stage = $2 AND worker = $3 AND status = 'running'`,
      [itemId, stage, id],
    );
    return rows.length >= count;
  });
}

async function databaseNow(): Promise<number> {
  const { rows } = await stack.pool.query<{ now: Date }>('SELECT now()');
  return rows[0]?.now.getTime() ?? Number.NaN;
}

/** When the attempt at a stage that followed the crash began. */
async function takenOverAt(itemId: string, stage: string): Promise<number> {
  const { rows } = await stack.pool.query<{ startedAt: Date }>(
    `SELECT started_at AS "startedAt" FROM attempts WHERE item_id = $1 AND stage = $2 AND attempt = 2`,
    [itemId, stage],
  );
  return rows[0]?.startedAt.getTime() ?? Number.NaN;
}

/** When the worker that finished a stage had it from Temporal, just before it claimed. */
async function startedAt(run: RunStart, stage: string): Promise<number> {
  const { events } = (await historyOf(stack.temporal.client, run)).json as { events: ActivityEvent[] };
  const scheduled = events.find((each) => each.activityTaskScheduledEventAttributes?.activityType.name === stage);
  const started = events.find(
    (each) => each.activityTaskStartedEventAttributes?.scheduledEventId === scheduled?.eventId,
  );
  return started ? Date.parse(started.eventTime) : Number.NaN;
}

interface ActivityEvent {
  eventId: string;
  eventTime: string;
  activityTaskScheduledEventAttributes?: { activityType: { name: string } };
  activityTaskStartedEventAttributes?: { scheduledEventId: string };
}

async function refusalsOf(itemId: string): Promise<object[]> {
  const { rows } = await stack.pool.query<object>('SELECT stage, fence, worker FROM refusals WHERE item_id = $1', [
    itemId,
  ]);
  return rows;
}

const ONE_CRASH = ['first done', 'second crash', 'second done', 'third done'];
const ONCE_EACH = ['1 first', '1 second', '1 third'];

describe('a worker that is killed', () => {
  it('loses its stage to another within the heartbeat timeout, and nothing is done twice', async () => {
    const { line, run, child } = await onChild({ stageMs: [0, 60_000, 0] });
    await stack.engine.start(run);
    await runsOn(child, run.itemId, 'second');
    await line.work();

    const killedAt = await databaseNow();
    await child.end();

    expect(await line.closed(run)).toBe('final');
    expect((await takenOverAt(run.itemId, 'second')) - killedAt).toBeLessThan(HEARTBEAT_MS + SLACK_MS);
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(ONE_CRASH);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(ONCE_EACH);
    expect(await taskOf(stack.pool, run.itemId, 'second')).toMatchObject({ crashes: 1, errors: 0, attempt: 2 });
    expect(await trailFaults(stack.pool, run.itemId)).toEqual([]);
  });

  it('in the middle of a fan-out leaves only the unfinished units to be run again', async () => {
    const faults = [{ stage: 'spread', attempt: 1, kind: 'kill', unit: 'unit-10' } as const];
    const { line, run, child } = await onChild({ units: 12, faults });
    await stack.engine.start(run);
    await child.exited;
    const before = (await tasksOf(stack.pool, run.itemId)).filter(({ status }) => status === 'done');
    await line.work();

    expect(await line.closed(run)).toBe('final');
    const effects = await effectsOf(stack.pool, run.itemId);
    expect(effects.filter((effect) => effect.includes('spread')).sort()).toEqual(
      unitsUpTo(12)
        .map((unit) => `1 spread ${unit}`)
        .sort(),
    );
    expect(effects).toHaveLength(12 + 3);
    const after = await tasksOf(stack.pool, run.itemId);
    for (const { stage, unit } of before) {
      expect(after.find((task) => task.stage === stage && task.unit === unit)).toMatchObject({
        attempt: 1,
        crashes: 0,
      });
    }
    expect(await taskOf(stack.pool, run.itemId, 'spread', 'unit-10')).toMatchObject({ attempt: 2, crashes: 1 });
  });

  it('in a short stage loses it when the workflow task times out', async () => {
    const { FIRST } = canary.states;
    const table = {
      ...canary,
      states: { ...canary.states, FIRST: { ...FIRST, does: { ...FIRST.does, short: true } } },
    };
    const { line, run, child } = await onChild({ faults: [{ stage: 'first', attempt: 1, kind: 'kill' }] }, table);
    const engine = createTemporalEngine(stack.temporal.client, { isShort: () => true });
    await engine.start(run);
    await child.exited;
    await line.work();
    const readyAt = await databaseNow();

    expect(await line.closed(run)).toBe('final');
    expect((await takenOverAt(run.itemId, 'first')) - readyAt).toBeLessThan(2_000 + SLACK_MS);
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual([
      'first crash',
      'first done',
      'second done',
      'third done',
    ]);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(ONCE_EACH);
  });
});

describe('a worker that is frozen and woken later', () => {
  it.each(['freeze', 'freezeInCommit'] as const)(
    'finds its commit refused, and leaves no trace but that: %s',
    async (kind) => {
      const { line, run, child, plant } = await onChild({ faults: [{ stage: 'second', attempt: 1, kind }] });
      // Another item's stage is in flight beside it, and would go on for long.
      const beside = await plant({ stageMs: [0, 600_000, 0] });
      await stack.engine.start(beside);
      await runsOn(child, beside.itemId, 'second');
      await stack.engine.start(run);
      await runsOn(child, run.itemId, 'second');
      // A slow machine could lose it the task before it comes to freeze, and it would freeze after it was woken.
      await until('the worker is frozen', () => child.isFrozen());
      await line.work();
      for (const each of [run, beside]) {
        expect(await line.closed(each)).toBe('final');
        // No lock of the frozen worker keeps the other worker waiting.
        const blockedMs = (await takenOverAt(each.itemId, 'second')) - (await startedAt(each, 'second'));
        expect(blockedMs).toBeLessThan(HEARTBEAT_MS);
      }

      child.kill('SIGCONT');
      await until('the refusal is counted', async () => (await refusalsOf(run.itemId)).length > 0);

      expect(await refusalsOf(run.itemId)).toEqual([{ stage: 'second', fence: 1, worker: child.id }]);
      for (const each of [run, beside]) {
        expect(await attemptsOf(stack.pool, each.itemId)).toEqual(ONE_CRASH);
        expect(await effectsOf(stack.pool, each.itemId)).toEqual(ONCE_EACH);
        expect(await trailFaults(stack.pool, each.itemId)).toEqual([]);
      }
      expect(await refusalsOf(beside.itemId)).toEqual([]);
    },
  );
});
