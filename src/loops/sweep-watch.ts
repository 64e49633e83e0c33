import type pg from 'pg';
import type { Logger } from 'pino';
import { type LateSweep, lateSweeps } from '../core/late-sweeps.js';
import { raiseEvent } from '../db/recovery/outbox.js';
import { noteScheduleCounts } from '../db/recovery/schedule-counts.js';
import { readSweepAges } from '../db/recovery/sweep-ages.js';
import type { Schedules } from '../ports/schedules.js';
import { startLoop } from './loop.js';

export interface SweepWatchDeps {
  pool: pg.Pool;
  schedules: Schedules;
  logger: Logger;
}

export interface SweepWatch {
  /** The sweeps that should have ended long ago, read from the database now. */
  late(): Promise<LateSweep[]>;
  stop(): Promise<void>;
}

/** As often as the shortest sweep, so that a late sweep is reported soon: after two missed intervals and at most a
 *  third. */
const EVERY_MS = 10_000;

/** Watches the sweeps, because recovery that has stopped would otherwise be noticed last. Any number of copies may
 *  run. */
export function startSweepWatch(deps: SweepWatchDeps): SweepWatch {
  const since = performance.now();
  let isOver = false;
  let giveUp = (): void => undefined;
  const late = (): Promise<LateSweep[]> => findLate(deps, performance.now() - since);
  const loop = startLoop({
    everyMs: EVERY_MS,
    name: 'sweep watch',
    logger: deps.logger,
    async turn() {
      await raiseLate(deps, await late());
      // A Temporal that hangs must not keep this process from ending.
      if (!isOver) await Promise.race([noteCounts(deps), new Promise<void>((resolve) => (giveUp = resolve))]);
    },
  });
  async function stop(): Promise<void> {
    isOver = true;
    giveUp();
    await loop.stop();
  }
  return { late, stop };
}

async function findLate({ pool, schedules }: SweepWatchDeps, watchedMs: number): Promise<LateSweep[]> {
  const sweeps = schedules.rows.filter(({ sweeps: pipeline }) => pipeline !== null);
  const ages = await readSweepAges(
    pool,
    sweeps.map(({ id }) => id),
  );
  return lateSweeps(sweeps, ages, watchedMs);
}

export async function raiseLate({ pool, logger }: SweepWatchDeps, late: readonly LateSweep[]): Promise<void> {
  for (const { id, pipeline, since, silentMs, sentence } of late) {
    const event = { id: `sweep_late:${id}:${since}`, kind: 'sweep_late', pipeline, sentence } as const;
    const isNew = await raiseEvent(pool, {
      ...event,
      payload: { schedule: id, since, silentMs: Math.round(silentMs) },
    });
    if (isNew) logger.error({ schedule: id, silentMs: Math.round(silentMs) }, 'sweep is late');
  }
}

/** A schedule that Temporal does not answer for is left out: health reports the outage, and the counts are unknown. */
export async function noteCounts({ pool, schedules, logger }: SweepWatchDeps): Promise<void> {
  for (const { id } of schedules.rows) {
    const status = await schedules.find(id).catch(() => null);
    if (!status) continue;
    const isNew = await noteScheduleCounts(pool, id, status);
    if (isNew) logger.warn({ schedule: id, skipped: status.skipped, missed: status.missed }, 'schedule left runs out');
  }
}
