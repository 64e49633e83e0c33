import type pg from 'pg';
import type { Facts } from '../../core/diagnosis.js';
import { type EngineFacts, engineFactsOf, indexedFactsOf, type RunLook } from '../../core/run-look.js';
import { type RunRef, workflowIdOf } from '../../core/run.js';
import type { ItemRecord, RowFacts } from '../../db/recovery/row-facts.js';
import { queueFactsOf } from '../../db/recovery/queue-facts.js';
import type { Engine } from '../../ports/engine.js';
import type { Schedules } from '../../ports/schedules.js';
import { giveUpAfter } from './engine-health.js';

/** A reader waits no longer than this for Temporal's answer about a run. Facts that are not known by then are shown as
 *  unknown. */
const PATIENCE_MS = 1_000;

export async function lookAtRun(engine: Engine, run: RunRef): Promise<RunLook> {
  return giveUpAfter(PATIENCE_MS, engine.describe(run)).catch(() => ({ is: 'unknown' }));
}

/** Asks about the runs of some items. The answers are in the order of the rows. */
export type LookAtRuns = (engine: Engine, rows: readonly RowFacts[]) => Promise<EngineFacts[]>;

/** Asks Temporal itself about each run: for one item. */
export const describeRuns: LookAtRuns = (engine, rows) =>
  Promise.all(rows.map(async ({ item }) => engineFactsOf(await lookAtRun(engine, runOf(item)))));

/** Runs of a list that are asked about one by one. The index is seldom late, and then for the newest runs alone, so there are few. A
 *  list must not cost a question for each of its lines. */
const DESCRIBED_AT_MOST = 10;

/** Asks Temporal's search index about all runs at once: for a list. */
export const findRuns: LookAtRuns = async (engine, rows) => {
  const runs = rows.map(({ item }) => runOf(item));
  const found = await giveUpAfter(PATIENCE_MS, engine.findRuns(runs)).catch(() => null);
  if (found) {
    return describeUnlisted(
      engine,
      rows.map((row) => ({ row, facts: indexedFactsOf(found.get(workflowIdOf(runOf(row.item))), row) })),
    );
  }
  // The search index may be slow while Temporal itself answers. Then the runs were not asked about.
  const isThere = await giveUpAfter(PATIENCE_MS, engine.ping()).then(
    () => true,
    () => false,
  );
  return rows.map(() => (isThere ? {} : engineFactsOf({ is: 'unknown' })));
};

/** The index tells nothing about a new run that it does not list. Temporal itself knows whether there is such a run. */
async function describeUnlisted(
  engine: Engine,
  found: readonly { row: RowFacts; facts: EngineFacts }[],
): Promise<EngineFacts[]> {
  const unlisted = found.filter(({ facts }) => facts.engine === undefined).slice(0, DESCRIBED_AT_MOST);
  const described = await describeRuns(
    engine,
    unlisted.map(({ row }) => row),
  );
  const facts = new Map(unlisted.map(({ row }, n) => [row, described[n]]));
  return found.map((each) => facts.get(each.row) ?? each.facts);
}

function runOf({ pipeline, id, epoch }: ItemRecord): RunRef {
  return { pipeline, itemId: id, epoch };
}

export type QueueLook = Pick<Facts, 'pollers' | 'backlog'>;

/** Facts that are not known are left out. */
export async function lookAtQueue(
  { engine, pool }: { engine: Engine; pool: pg.Pool },
  pipeline: string,
): Promise<QueueLook> {
  const queue = await giveUpAfter(PATIENCE_MS, engine.queue(pipeline)).catch(() => null);
  return queue ? queueFactsOf(pool, queue) : {};
}

/** Whether a person has stopped the sweeps of a pipeline. If it is not known, it is left out. */
export async function askIfUnswept(schedules: Schedules, pipeline: string): Promise<Pick<Facts, 'unswept'>> {
  const sweep = schedules.rows.find(({ sweeps }) => sweeps === pipeline);
  if (!sweep) return {};
  if (!sweep.isOn) return { unswept: `${sweep.id} is switched off` };
  const status = await giveUpAfter(PATIENCE_MS, schedules.find(sweep.id)).catch(() => null);
  return status?.paused ? { unswept: `${sweep.id} is paused (${status.paused.why ?? 'no reason given'})` } : {};
}
