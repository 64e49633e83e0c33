import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startWatcher, type Watcher } from '../../src/loops/watcher.js';
import type { CanarySettings } from '../../src/domains/canary/core/canary-settings.js';
import type { Pipeline } from '../../src/core/pipeline.js';
import type { RunStart } from '../../src/core/run.js';
import type { Span } from '../../src/core/span.js';
import { canaryRow } from '../../src/domains/canary/db/canaries.js';
import { canary } from '../../src/domains/canary/table.js';
import { historyOf } from '../support/history.js';
import { type Proxy, startProxy } from '../support/proxy.js';
import { attemptsOf, effectsOf, taskOf, trailFaults } from '../support/facts.js';
import { until } from '../support/until.js';
import { type Line, openStack, silent, type Stack } from '../support/worker.js';
import type { WorkerChild } from '../support/spawn-worker.js';
import { startWorkerChild } from '../support/worker-child.js';

// A process takes seconds to start on a busy machine.
vi.setConfig({ testTimeout: 180_000 });

/** A heartbeat timeout longer than a test, so that no recovery comes from a missed heartbeat. */
const patient = canaryWith('10m');

/** A frozen worker's open polls still take tasks, which come back after this heartbeat timeout. */
const impatient = canaryWith('5s');

function canaryWith(beats: Span): Pipeline {
  const { FIRST, SPREADING, SECOND, THIRD } = canary.states;
  const states = {
    FIRST: { ...FIRST, does: { ...FIRST.does, beats } },
    SPREADING: { ...SPREADING, does: { ...SPREADING.does, beats } },
    SECOND: { ...SECOND, does: { ...SECOND.does, beats } },
    THIRD: { ...THIRD, does: { ...THIRD.does, beats } },
  };
  return { ...canary, states: { ...canary.states, ...states } };
}

let stack: Stack;
let watcher: Watcher;
/** Stands between a child and the database, on the connection of the child's lock only. */
let proxy: Proxy;
beforeAll(async () => {
  stack = await openStack();
  proxy = await startProxy(Number(new URL(stack.url).port));
  const { url: directUrl, limited: pool, engine } = stack;
  watcher = startWatcher({ directUrl, pool, engine, logger: silent, goneForMs: 250 });
});
afterAll(async () => {
  await watcher.stop();
  await proxy.close();
  await stack.close();
});

function proxiedUrl(): string {
  const url = new URL(stack.url);
  url.port = String(proxy.port);
  return url.href;
}

interface Scene {
  line: Line;
  child: WorkerChild;
  start(settings: Partial<CanarySettings>): Promise<RunStart>;
}

/** A worker process that the watcher has seen alive, and that is alone so far. */
async function onChild(table = patient): Promise<Scene> {
  const line = stack.line(table);
  const child = await startWorkerChild(stack.url, line.table(), proxiedUrl());
  onTestFinished(() => child.end());
  await looked(1);
  async function start(settings: Partial<CanarySettings>): Promise<RunStart> {
    const plain = { stageMs: [0, 0, 0], units: 0, decision: false, faults: [] };
    const run = await line.insert({}, { row: canaryRow({ ...plain, ...settings }) });
    await stack.engine.start(run);
    return run;
  }
  return { line, child, start };
}

/** Waits for one look more than asked for, because the first may have begun before. */
async function looked(times: number): Promise<void> {
  for (let looks = 0; looks <= times; looks += 1) {
    const before = watcher.lastTurnAt();
    await until('the watcher has looked', () => watcher.lastTurnAt() !== before);
  }
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

async function deathOf({ id }: WorkerChild): Promise<{ gone: boolean; died: boolean; deaths: number } | undefined> {
  const { rows } = await stack.pool.query<{ gone: boolean; died: boolean; deaths: number }>(
    'SELECT seen_gone_at IS NOT NULL AS gone, died_at IS NOT NULL AS died, deaths FROM workers WHERE id = $1',
    [id],
  );
  return rows[0];
}

interface HistoryEvent {
  eventType: string;
  activityTaskStartedEventAttributes?: { attempt: number; lastFailure?: { message: string } };
}

async function eventsOf(run: RunStart): Promise<HistoryEvent[]> {
  const { events } = (await historyOf(stack.temporal.client, run)).json as { events: HistoryEvent[] };
  return events;
}

/** Temporal's reasons for the repeated attempts of the run. */
async function reasonsAgain(run: RunStart): Promise<string[]> {
  const started = (await eventsOf(run)).flatMap((event) => event.activityTaskStartedEventAttributes ?? []);
  return started.filter(({ attempt }) => attempt > 1).map(({ lastFailure }) => lastFailure?.message ?? '');
}

const ONE_CRASH = ['first done', 'second crash', 'second done', 'third done'];
const ONCE_EACH = ['1 first', '1 second', '1 third'];

describe('a worker process that is killed', () => {
  it('loses its stage to another worker by presence alone, and the next stage does not wait for the dead worker', async () => {
    const { line, child, start } = await onChild();
    const run = await start({ stageMs: [0, 600_000, 0] });
    await runsOn(child, run.itemId, 'second');
    await line.work();

    await child.end();

    expect(await line.closed(run)).toBe('final');
    expect(await reasonsAgain(run)).toEqual([`worker died: ${child.id}`]);
    const events = (await eventsOf(run)).map(({ eventType }) => eventType);
    expect(events.filter((type) => type === 'EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT')).toEqual([]);
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(ONE_CRASH);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(ONCE_EACH);
    expect(await taskOf(stack.pool, run.itemId, 'second')).toMatchObject({ crashes: 1, errors: 0, attempt: 2 });
    expect(await trailFaults(stack.pool, run.itemId)).toEqual([]);
    await until('it is marked', async () => (await deathOf(child))?.died);
    expect(await deathOf(child)).toEqual({ gone: true, died: true, deaths: 1 });
  });

  it('in the middle of a fan-out leaves every unit that it ran to other workers', async () => {
    const { line, child, start } = await onChild();
    const faults = Array.from({ length: 8 }, (_, n) => ({
      ...{ stage: 'spread', attempt: 1, kind: 'hang' },
      unit: `unit-${String(n + 1)}`,
    })) as CanarySettings['faults'];
    const run = await start({ units: 12, faults });
    await runsOn(child, run.itemId, 'spread', 8);
    await line.work();

    await child.end();

    expect(await line.closed(run)).toBe('final');
    expect(await reasonsAgain(run)).toEqual(Array.from({ length: 8 }, () => `worker died: ${child.id}`));
    expect(await effectsOf(stack.pool, run.itemId)).toHaveLength(12 + 3);
  });
});

describe('a worker process that is frozen', () => {
  it('keeps its lock and its stage', async () => {
    const { line, child, start } = await onChild();
    const run = await start({ faults: [{ stage: 'second', attempt: 1, kind: 'freeze' }] });
    await runsOn(child, run.itemId, 'second');
    await until('the worker is frozen', () => child.isFrozen());
    await looked(10);
    expect(await deathOf(child)).toEqual({ gone: false, died: false, deaths: 0 });

    child.kill('SIGCONT');

    expect(await line.closed(run)).toBe('final');
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(['first done', 'second done', 'third done']);
  });

  it('and is wrongly taken for dead has its commit refused and registers again', async () => {
    onTestFinished(() => proxy.heal());
    const { line, child, start } = await onChild(impatient);
    const run = await start({ faults: [{ stage: 'second', attempt: 1, kind: 'freeze' }] });
    await runsOn(child, run.itemId, 'second');
    await until('the worker is frozen', () => child.isFrozen());
    await line.work();

    proxy.cut();
    await until('it is taken for dead', async () => (await deathOf(child))?.died);

    expect(await line.closed(run)).toBe('final');
    child.kill('SIGCONT');
    const refused = await until('its commit is refused', async () => {
      const { rows } = await stack.pool.query('SELECT stage, fence, worker FROM refusals WHERE item_id = $1', [
        run.itemId,
      ]);
      return rows.length > 0 && rows;
    });
    expect(refused).toEqual([{ stage: 'second', fence: 1, worker: child.id }]);
    expect(await deathOf(child)).toEqual({ gone: true, died: true, deaths: 1 });
    proxy.heal();
    await until('it has registered again', async () => !(await deathOf(child))?.gone);
    expect(await deathOf(child)).toEqual({ gone: false, died: false, deaths: 1 });
    expect(await attemptsOf(stack.pool, run.itemId)).toEqual(ONE_CRASH);
    expect(await effectsOf(stack.pool, run.itemId)).toEqual(ONCE_EACH);
    expect(await trailFaults(stack.pool, run.itemId)).toEqual([]);
  });
});
