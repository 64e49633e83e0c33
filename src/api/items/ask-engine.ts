import type pg from 'pg';
import { type Facts, lastSignOf, type Reason } from '../../core/diagnosis.js';
import { engineFactsOf, type RunLook } from '../../core/retry.js';
import type { RunRef } from '../../core/run.js';
import { queueFactsOf } from '../../db/recovery/queue-facts.js';
import type { Engine } from '../../ports/engine.js';
import type { Schedules } from '../../ports/schedules.js';
import { within } from './engine-health.js';

/** What only a sweep ends. */
export const SWEPT: readonly Reason[] = ['workflow_closed', 'rescue_wait'];

/** An item that gave a sign of life in this time is on its way; Temporal is not asked about it. */
const ASK_AFTER_MS = 5_000;

export function isSilent(facts: Pick<Facts, 'item' | 'running' | 'now'>): boolean {
  return facts.now.getTime() - lastSignOf(facts).getTime() >= ASK_AFTER_MS;
}

/** A reader waits no longer than this for what Temporal says of a run; what is not known by then is said to be unknown. */
const PATIENCE_MS = 1_000;

export async function lookAtRun(engine: Engine, run: RunRef): Promise<RunLook> {
  return within(PATIENCE_MS, engine.describe(run)).catch(() => ({ is: 'unknown' }));
}

/** What a diagnosis wants to know of the run and of the queue it waits in. */
export async function askEngine(deps: { engine: Engine; pool: pg.Pool }, run: RunRef): Promise<Partial<Facts>> {
  const [look, queue] = await Promise.all([lookAtRun(deps.engine, run), lookAtQueue(deps, run.pipeline)]);
  return { ...engineFactsOf(look), ...queue };
}

export type QueueLook = Pick<Facts, 'pollers' | 'backlog'>;

/** What is not known is left out. */
export async function lookAtQueue(
  { engine, pool }: { engine: Engine; pool: pg.Pool },
  pipeline: string,
): Promise<QueueLook> {
  const queue = await within(PATIENCE_MS, engine.queue(pipeline)).catch(() => null);
  return queue ? queueFactsOf(pool, queue) : {};
}

/** Whether somebody has stopped the sweeps of a pipeline. What is not known is left out. */
export async function askIfUnswept(schedules: Schedules, pipeline: string): Promise<Pick<Facts, 'unswept'>> {
  const sweep = schedules.rows.find(({ sweeps }) => sweeps === pipeline);
  if (!sweep) return {};
  if (!sweep.isOn) return { unswept: `${sweep.id} is switched off` };
  const status = await within(PATIENCE_MS, schedules.find(sweep.id)).catch(() => null);
  return status?.paused ? { unswept: `${sweep.id} is paused (${status.paused.why ?? 'no reason given'})` } : {};
}
