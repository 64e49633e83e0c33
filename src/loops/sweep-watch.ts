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
  /** The sweeps that should have ended long ago, asked of the database now. */
  late(): Promise<LateSweep[]>;
  stop(): Promise<void>;
}

/** As often as the shortest sweep: what is late is told within half of what made it late. */
const EVERY_MS = 10_000;

/** Watches the janitor: recovery that has stopped would otherwise be noticed last. Any number of copies may run. */
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
      // A Temporal that hangs must not keep us from ending.
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

/** Temporal being away is said elsewhere, and says nothing about skips. */
export async function noteCounts({ pool, schedules, logger }: SweepWatchDeps): Promise<void> {
  for (const { id } of schedules.rows) {
    const status = await schedules.find(id).catch(() => null);
    if (!status) continue;
    const isNew = await noteScheduleCounts(pool, id, status);
    if (isNew) logger.warn({ schedule: id, skipped: status.skipped, missed: status.missed }, 'schedule left runs out');
  }
}
