import type pg from 'pg';
import { type Facts, lastSignOf, type Reason } from '../../core/diagnosis.js';
import { engineFactsOf, type RunLook } from '../../core/run-look.js';
import type { RunRef } from '../../core/run.js';
import { queueFactsOf } from '../../db/recovery/queue-facts.js';
import type { Engine } from '../../ports/engine.js';
import type { Schedules } from '../../ports/schedules.js';
import { giveUpAfter } from './engine-health.js';

/** Reasons that only a sweep ends. */
export const SWEPT: readonly Reason[] = ['workflow_closed', 'rescue_wait'];

/** An item that gave a sign of life in this time is on its way, so Temporal is not asked about it. */
const ASK_AFTER_MS = 5_000;

export function isSilent(facts: Pick<Facts, 'item' | 'running' | 'now'>): boolean {
  return facts.now.getTime() - lastSignOf(facts).getTime() >= ASK_AFTER_MS;
}

/** A reader waits no longer than this for Temporal's answer about a run. Facts that are not known by then are shown as
 *  unknown. */
const PATIENCE_MS = 1_000;

export async function lookAtRun(engine: Engine, run: RunRef): Promise<RunLook> {
  return giveUpAfter(PATIENCE_MS, engine.describe(run)).catch(() => ({ is: 'unknown' }));
}

/** The facts for a diagnosis that only Temporal knows: about the run, and about the queue in which it waits. */
export async function askEngine(deps: { engine: Engine; pool: pg.Pool }, run: RunRef): Promise<Partial<Facts>> {
  const [look, queue] = await Promise.all([lookAtRun(deps.engine, run), lookAtQueue(deps, run.pipeline)]);
  return { ...engineFactsOf(look), ...queue };
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
