import { randomUUID } from 'node:crypto';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type pg from 'pg';
import { type Logger, pino } from 'pino';
import { afterAll, beforeAll, vi } from 'vitest';
import { createActivities } from '../../src/activities/stage-runner.js';
import { startDispatcher, type Dispatcher } from '../../src/loops/dispatcher.js';
import { rowOf, stagesIn } from '../../src/core/machine.js';
import type { Pipeline } from '../../src/core/pipeline.js';
import { type RunStart, type RunRef, workflowIdOf } from '../../src/core/run.js';
import { inTransaction } from '../../src/db/postgres/client.js';
import type { FindPipeline } from '../../src/db/spine/control.js';
import { createItem, type NewItem, runStartOf } from '../../src/db/spine/items.js';
import type { Engine } from '../../src/ports/engine.js';
import type { Statement } from '../../src/ports/sql.js';
import type { AnyStage, StageContext, StageResult } from '../../src/ports/stage.js';
import { createTemporalEngine } from '../../src/temporal/engine.js';
import type { WorkerMembership } from '../../src/temporal/refuse-foreign-tasks.js';
import { createItemWorker } from '../../src/temporal/worker.js';
import { workflowBundle } from './bundle.js';
import { itemOf } from './facts.js';
import { inProcessIsolation } from './in-process-isolation.js';
import { installRuntime } from './runtime.js';
import { ADA, openSpine, type Spine } from './spine.js';
import { connectTemporal, type TestTemporal } from './temporal.js';
import { until } from './until.js';

/** Two cores that others use as well: walking an item takes a tenth of a second, or ten. */
vi.setConfig({ testTimeout: 90_000 });

/** What a test does in place of some stages of one item. */
export type Script = Readonly<Record<string, AnyStage>>;

export const silent = pino({ level: 'silent' });

/** Database, Temporal and engine of a test file, as the product puts them together. */
export interface Stack extends Spine {
  temporal: TestTemporal;
  engine: Engine;
  /** A copy of the table under a name of its own: its task queue and its rows are nobody else's. */
  line(table: Pipeline): Line;
}

/** One table at work. */
export interface Line {
  /** As it stands now: `alter` puts another in its place. */
  table(): Pipeline;
  find: FindPipeline;
  /** Changes the table under running items; workers and dispatchers started from now on have the new one. */
  alter(table: Pipeline): void;
  /** The row without a run. */
  insert(script?: Script, item?: Partial<NewItem>): Promise<RunStart>;
  /** The row and its run. */
  start(script?: Script, item?: Partial<NewItem>): Promise<RunStart>;
  /** Starts the run of the item's present epoch, as the dispatcher would. */
  restart(itemId: string): Promise<RunStart>;
  work(options?: WorkOptions): Promise<TestWorker>;
  dispatch(engine?: Engine): Dispatcher;
  /** How the run closed: what it returned, or the status it closed with. */
  closed(run: RunRef): Promise<string>;
  status(run: RunRef): Promise<string>;
}

export interface WorkOptions {
  id?: string;
  graceMs?: number;
  /** Instead of the Temporal of the test run. */
  address?: string;
  /** Stages that it runs at once. */
  slots?: number;
  /** Its way to the database, where a test wants to damage it. */
  pool?: pg.Pool;
  logger?: Logger;
  /** For how long it has just stood still. */
  sleptMs?: () => number;
  /** Instead of the product's workflow code. */
  codePath?: string;
  /** The installation that it belongs to. */
  membership?: WorkerMembership;
}

export interface TestWorker {
  id: string;
  /** Resolves when the worker has let go of everything. */
  stop(): Promise<void>;
}

export async function openStack(): Promise<Stack> {
  installRuntime();
  const [spine, temporal] = await Promise.all([openSpine(), connectTemporal()]);
  const engine = createTemporalEngine(temporal.client);
  const workers = new Set<TestWorker>();
  const dispatchers = new Set<Dispatcher>();
  const stack: Stack = {
    ...spine,
    temporal,
    engine,
    line: (table) => layLine(stack, workers, dispatchers, table),
    close,
  };
  async function close(): Promise<void> {
    await Promise.all([...dispatchers].map((each) => each.stop()));
    await Promise.all([...workers].map((each) => each.stop()));
    await temporal.close();
    await spine.close();
  }
  return stack;
}

/** The stack of a test file, there while its tests run. */
export function useStack(): Stack {
  const stack = {} as Stack;
  beforeAll(async () => {
    Object.assign(stack, await openStack());
  });
  afterAll(() => stack.close());
  return stack;
}

function layLine(stack: Stack, workers: Set<TestWorker>, dispatchers: Set<Dispatcher>, table: Pipeline): Line {
  const name = `${table.name}-${randomUUID().slice(0, 8)}`;
  let current: Pipeline = { ...table, name };
  const scripts = new Map<string, Script>();

  async function insert(script: Script = {}, item: Partial<NewItem> = {}): Promise<RunStart> {
    const given = { owner: 'ada', actor: ADA, trigger: 'submitted', ...item };
    const created = await inTransaction(stack.limited, (transaction) => createItem(transaction, current, given));
    scripts.set(created.id, script);
    const first = { itemId: created.id, owner: given.owner, priority: given.priority ?? 0, state: current.start };
    return runStartOf(current, { ...first, visit: 1, epoch: 1 });
  }
  async function work(options: WorkOptions = {}): Promise<TestWorker> {
    const {
      id = `worker-${randomUUID().slice(0, 8)}`,
      graceMs = 0,
      pool = stack.limited,
      logger = silent,
      slots = 100,
    } = options;
    // Of its own: one connection takes no two workers of one queue.
    const connection = await NativeConnection.connect({ address: options.address ?? stack.temporal.address });
    const attempts = { pool, pipeline: current, stages: stagesOf(current, scripts), logger };
    const worker = await createItemWorker({
      connection,
      namespace: 'default',
      pipeline: name,
      identity: id,
      workflowBundle: options.codePath === undefined ? await workflowBundle() : { codePath: options.codePath },
      activities: createActivities({
        ...{ ...attempts, worker: id, isolation: inProcessIsolation(attempts) },
        ...(options.sleptMs && { sleptMs: options.sleptMs }),
      }),
      maxActivities: slots,
      shutdownGraceMs: graceMs,
      ...(options.membership && { membership: options.membership }),
    });
    const running = worker.run();
    const testWorker: TestWorker = {
      id,
      async stop() {
        workers.delete(testWorker);
        if (worker.getState() === 'RUNNING') worker.shutdown();
        await running;
        await connection.close();
      },
    };
    workers.add(testWorker);
    return testWorker;
  }
  function handleOf(run: RunRef) {
    return stack.temporal.client.workflow.getHandle(workflowIdOf(run));
  }
  async function status(run: RunRef): Promise<string> {
    try {
      return (await handleOf(run).describe()).status.name;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'NONE';
      throw error;
    }
  }

  return {
    table: () => current,
    find: () => current,
    alter(changed) {
      current = { ...changed, name };
    },
    insert,
    async start(script, item) {
      const run = await insert(script, item);
      await stack.engine.start(run);
      return run;
    },
    async restart(itemId) {
      const item = await itemOf(stack.pool, itemId);
      const run = runStartOf(current, { ...item, itemId });
      await stack.engine.start(run);
      return run;
    },
    work,
    dispatch(engine = stack.engine) {
      const dispatcher = startDispatcher({
        pool: stack.limited,
        engine,
        pipelines: { [name]: current },
        logger: silent,
      });
      dispatchers.add(dispatcher);
      return dispatcher;
    },
    status,
    async closed(run) {
      await until('the run is started', async () => (await status(run)) !== 'NONE');
      try {
        return String(await handleOf(run).result());
      } catch (error) {
        if (error instanceof WorkflowFailedError) return status(run);
        throw error;
      }
    },
  };
}

/** Every stage leaves an effect and answers the first outcome of its row, unless the item's script says otherwise. */
function stagesOf(table: Pipeline, scripts: Map<string, Script>): Record<string, AnyStage> {
  const stages: Record<string, AnyStage> = {};
  for (const [state, row] of Object.entries(table.states)) {
    for (const { stage } of stagesIn(row)) {
      const outcome = usualOutcome(table, state, stage);
      stages[stage] = (context) => scripts.get(context.item.id)?.[stage]?.(context) ?? leave(context, outcome);
    }
  }
  return stages;
}

function usualOutcome(table: Pipeline, state: string, stage: string): string {
  const row = rowOf(table, state);
  const isLast = stagesIn(row).at(-1)?.stage === stage;
  if (!isLast || !('then' in row) || 'done' in row.then) return 'done';
  return Object.keys(row.then)[0] ?? 'done';
}

/** A result that leaves one effect. The table of effects has no unique key: one that came twice is seen. */
export async function leave(context: StageContext, outcome = 'done', units?: readonly string[]): Promise<StageResult> {
  return { outcome, save: effectOf(context), ...(units && { units }) };
}

function effectOf({ attempt }: StageContext): Statement {
  return {
    text: `INSERT INTO canary_effects (item_id, visit, stage, unit, attempt)
           SELECT guard.item_id, guard.visit, guard.stage, guard.unit, $1::int FROM guard`,
    values: [attempt],
  };
}

export function unitsUpTo(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `unit-${String(n + 1)}`);
}

/** The stage before a fan-out. */
export function feeds(count: number, outcome = 'done'): AnyStage {
  return (context) => leave(context, outcome, unitsUpTo(count));
}

/** Fails on the attempts given (all, if none are), then leaves its effect. */
export function fails(error: Error, onAttempts?: readonly number[], outcome = 'done'): AnyStage {
  return async (context) => {
    if (!onAttempts || onAttempts.includes(context.attempt)) throw error;
    return leave(context, outcome);
  };
}

/** Runs until its signal is aborted, and then stops as it should. */
export function untilAborted(onStart: (context: StageContext) => void = () => undefined): AnyStage {
  return (context) =>
    new Promise((_, reject) => {
      onStart(context);
      context.signal.addEventListener('abort', () => {
        reject(context.signal.reason as Error);
      });
    });
}
