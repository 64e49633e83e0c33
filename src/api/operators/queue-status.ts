import { z } from 'zod';
import type { Pipeline } from '../../core/pipeline.js';
import { degradationsOf } from '../../core/queue-health.js';
import { countQueued, countShelf, listHolding, QUEUE_CAP, SHELF_CAP } from '../../db/reads/queue.js';
import { readHours, readTotals } from '../../db/reads/pipeline-figures.js';
import { listStuck } from '../../db/recovery/stuck.js';
import { listPauses, type Pause } from '../../db/spine/pipeline-pause.js';
import { lookAtQueue, type QueueLook } from '../items/ask-engine.js';
import { diagnoseRows } from '../items/diagnose-rows.js';
import type { ApiParts } from '../parts.js';
import { hourFiguresOf, HourFigures, hoursBack } from './hourly-metrics.js';
import { PauseAnswer, pauseAnswer } from './pause-answer.js';
import { STUCK_SHOWN, stuckAnswer, StuckItem } from './stuck.js';

const HOURS = 24;

const Time = z.iso.datetime();

export const QueueStatusAnswer = z.object({
  health: z.enum(['ok', 'degraded']),
  why: z.array(z.string()).describe('The reasons why it is degraded'),
  paused: PauseAnswer.nullable(),
  waiting: z.int().describe(`In line or at work, counted up to ${QUEUE_CAP}`),
  workers: z.int().nullable().describe('How many ask for work; null: not known'),
  throughput: z
    .object({
      totalReceived: z.int(),
      totalFinished: z.int(),
      totalFailed: z.int(),
      totalTimedOut: z.int(),
      asOf: Time.nullable().describe('Totals and hours are whole up to this time; null: nothing was counted yet'),
    })
    .describe('Since the beginning'),
  recentHours: z
    .array(z.object({ hour: Time, figures: HourFigures.nullable() }))
    .length(HOURS)
    .describe('Newest first, the present one included; null: not counted yet, or over before counting began'),
  stuck: z.object({
    items: z.array(StuckItem).describe('Longest stopped first'),
    capped: z.boolean().describe('There may be more'),
  }),
  failedShelf: z
    .object({
      count: z.int(),
      parked: z.int(),
      poison: z.int(),
      exhausted: z.int(),
      capped: z.boolean().describe(`Each is counted up to ${SHELF_CAP}`),
    })
    .describe('Items that recovery gave up; an outcome of the pipeline is no failure'),
});

type Deps = Pick<ApiParts, 'pool' | 'engine' | 'pipelines' | 'schedules' | 'sweeps' | 'engineHealth'>;

/** The status of a pipeline's queue: health, pause, throughput, stuck items, and items that recovery gave up. */
export async function readQueueStatus(deps: Deps, pipeline: Pipeline): Promise<z.output<typeof QueueStatusAnswer>> {
  const { pool } = deps;
  const [pause, totals, hours, stuck, shelf, late, engine, waiting, breakers] = await Promise.all([
    findPause(deps, pipeline),
    readTotals(pool, pipeline),
    readHours(pool, pipeline, HOURS),
    listStuck(pool, pipeline, { limit: STUCK_SHOWN + 1 }),
    countShelf(pool, pipeline),
    deps.sweeps?.late() ?? [],
    lookAtEngine(deps, pipeline),
    countQueued(pool, pipeline),
    listHolding(pool, pipeline),
  ]);
  const diagnosed = await diagnoseRows(
    deps,
    stuck.slice(0, STUCK_SHOWN).map(({ facts }) => facts),
    engine,
  );
  const why = degradationsOf({
    pause,
    breakers,
    waiting,
    hasStuck: stuck.length > 0,
    isEngineThere: engine.isEngineThere,
    workers: engine.queue?.pollers,
    lateSweeps: late.filter((each) => each.pipeline === pipeline.name).map(({ sentence }) => sentence),
  });
  const isFull = Object.values(shelf).some((count) => count >= SHELF_CAP);
  return {
    health: why.length === 0 ? 'ok' : 'degraded',
    why,
    paused: pause ? pauseAnswer(pause) : null,
    waiting,
    workers: engine.queue?.pollers ?? null,
    throughput: {
      totalReceived: totals.received,
      totalFinished: totals.finished,
      totalFailed: totals.failed,
      totalTimedOut: totals.timedOut,
      asOf: totals.asOf?.toISOString() ?? null,
    },
    recentHours: hoursBack(new Date(), HOURS).map((hour) => ({
      hour,
      figures: hourFiguresOf(hours.find(({ at }) => at === hour)),
    })),
    stuck: {
      items: diagnosed.map(stuckAnswer),
      capped: stuck.length > STUCK_SHOWN,
    },
    failedShelf: { ...shelf, count: shelf.parked + shelf.poison + shelf.exhausted, capped: isFull },
  };
}

export async function findPause({ pool }: Pick<Deps, 'pool'>, { name }: Pipeline): Promise<Pause | null> {
  return (await listPauses(pool)).find((each) => each.pipeline === name) ?? null;
}

/** One look for the whole answer, so that its parts agree. */
async function lookAtEngine(deps: Deps, { name }: Pipeline): Promise<{ isEngineThere: boolean; queue?: QueueLook }> {
  if (!(await deps.engineHealth.isThere())) return { isEngineThere: false };
  return { isEngineThere: true, queue: await lookAtQueue(deps, name) };
}
