import { z } from 'zod';
import { diagnose, type Facts, REASONS } from '../../core/diagnosis.js';
import { AppError } from '../../core/errors.js';
import { whyDegraded } from '../../core/queue-health.js';
import { listPauses, type Pause, pausePipeline, resumePipeline } from '../../db/spine/pipeline-pause.js';
import { readHours } from '../../db/reads/read-hourly-metrics.js';
import { listStuck } from '../../db/recovery/stuck.js';
import { countQueued, countShelf, listHolding, QUEUE_CAP, readTotals, SHELF_CAP } from '../../db/reads/queue.js';
import type { StuckRow } from '../../db/recovery/stuck-facts.js';
import { callerOf } from '../http/access.js';
import type { ApiDeps, App } from '../app.js';
import { lookAtQueue, type QueueLook } from '../items/ask-engine.js';
import type { EngineHealth } from '../items/engine-health.js';
import { pipelineOf } from '../items/item-reader.js';
import { DEFAULT_PAUSE_MS, PauseAnswer, pauseAnswer, PauseBody } from './pause-answer.js';
import { actorOf } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { figuresOf, HourFigures, hoursBack } from './hourly-metrics.js';

const TAGS = ['submissions'];
const PIPELINE = 'submission';
const STUCK_SHOWN = 50;
const HOURS = 24;

const Time = z.iso.datetime();

const Stuck = z.object({
  id: z.uuid(),
  owner: z.string(),
  state: z.string(),
  since: Time.describe('Its last sign of life'),
  rescues: z.int(),
  diagnosis: z.object({
    reason: z.enum(REASONS),
    sentence: z.string(),
    nextAction: z.string(),
    nextAt: Time.nullable(),
  }),
});

const Status = z.object({
  health: z.enum(['ok', 'degraded']),
  why: z.array(z.string()).describe('What degrades it'),
  paused: PauseAnswer.nullable(),
  waiting: z.int().describe(`In line or at work, counted up to ${String(QUEUE_CAP)}`),
  workers: z.int().nullable().describe('How many ask for work; null: not known'),
  throughput: z
    .object({
      ...{ totalReceived: z.int(), totalFinished: z.int(), totalFailed: z.int(), totalTimedOut: z.int() },
      asOf: Time.nullable().describe('When they were added up, as the hours are: once a minute; null: not yet'),
    })
    .describe('Since the first day that is kept'),
  recentHours: z
    .array(z.object({ hour: Time, figures: HourFigures.nullable() }))
    .length(HOURS)
    .describe('Newest first, the present one included; null: nobody computed it'),
  stuck: z.object({
    items: z.array(Stuck).describe('Those first that stopped longest ago'),
    capped: z.boolean().describe('There may be more'),
  }),
  failedShelf: z
    .object({
      count: z.int(),
      parked: z.int(),
      poison: z.int(),
      exhausted: z.int(),
      capped: z.boolean().describe(`Each is counted up to ${String(SHELF_CAP)}`),
    })
    .describe('What recovery gave up; verdicts are no failures'),
});

const Paused = z.object({ paused: PauseAnswer.nullable() });

type Deps = Pick<ApiDeps, 'pool' | 'engine' | 'pipelines' | 'sweeps'> & { engineHealth: EngineHealth };

export function addSubmissionQueueRoutes(app: App, deps: Deps): void {
  const { pool } = deps;

  app.get(
    '/api/v1/admin/queue/status',
    {
      config: { access: ['viewer', 'admin'] },
      schema: {
        tags: TAGS,
        summary: 'How the queue of submissions is: health, pause, throughput, what is stuck and what was given up',
        response: { 200: Status, ...problems(409) },
      },
    },
    () => statusOf(deps),
  );

  app.post(
    '/api/v1/admin/queue/pause',
    {
      config: { access: ['admin'] },
      schema: {
        tags: TAGS,
        summary: 'Pause the queue for a while: what runs ends, nothing else begins',
        body: PauseBody,
        response: { 200: Paused, ...problems(409, 413, 415) },
      },
    },
    async (request) => {
      const { for: forMs = DEFAULT_PAUSE_MS, reason } = request.body;
      await pausePipeline(pool, { pipeline: PIPELINE, actor: actorOf(callerOf(request)), reason, forMs });
      const pause = await findPause(deps);
      return { paused: pause && pauseAnswer(pause) };
    },
  );

  app.delete(
    '/api/v1/admin/queue/pause',
    {
      config: { access: ['admin'] },
      schema: {
        tags: TAGS,
        summary: 'Resume the queue: what waits goes on',
        response: { 200: Paused, ...problems(409) },
      },
    },
    async (request) => {
      if (await resumePipeline(pool, { pipeline: PIPELINE, actor: actorOf(callerOf(request)) }))
        return { paused: null };
      throw new AppError('state_conflict', 'the queue is not paused');
    },
  );
}

async function statusOf(deps: Deps): Promise<z.output<typeof Status>> {
  const { pool } = deps;
  const pipeline = pipelineOf(deps, PIPELINE);
  const [pause, totals, hours, stuck, shelf, late, queue, waiting, breakers] = await Promise.all([
    findPause(deps),
    readTotals(pool, pipeline),
    readHours(pool, PIPELINE),
    listStuck(pool, pipeline, STUCK_SHOWN + 1),
    countShelf(pool, pipeline),
    deps.sweeps?.late() ?? [],
    lookAtEngine(deps),
    countQueued(pool, pipeline),
    listHolding(pool, pipeline),
  ]);
  const why = whyDegraded({
    ...{ pause, breakers, waiting, hasStuck: stuck.length > 0 },
    ...{ engineIsThere: queue.engine !== 'unknown', workers: queue.pollers },
    lateSweeps: late.filter((each) => each.pipeline === PIPELINE).map(({ sentence }) => sentence),
  });
  const isFull = Object.values(shelf).some((count) => count >= SHELF_CAP);
  return {
    health: why.length === 0 ? 'ok' : 'degraded',
    why,
    paused: pause ? pauseAnswer(pause) : null,
    ...{ waiting, workers: queue.pollers ?? null },
    throughput: {
      totalReceived: totals.received,
      totalFinished: totals.finished,
      totalFailed: totals.failed,
      totalTimedOut: totals.timedOut,
      asOf: totals.asOf?.toISOString() ?? null,
    },
    recentHours: hoursBack(new Date(), HOURS).map((hour) => ({
      hour,
      figures: figuresOf(hours.find(({ at }) => at === hour)),
    })),
    stuck: {
      items: stuck.slice(0, STUCK_SHOWN).map((row) => stuckAnswer(row, deps, queue)),
      capped: stuck.length > STUCK_SHOWN,
    },
    failedShelf: { ...shelf, count: shelf.parked + shelf.poison + shelf.exhausted, capped: isFull },
  };
}

async function findPause({ pool }: Deps): Promise<Pause | null> {
  return (await listPauses(pool)).find((each) => each.pipeline === PIPELINE) ?? null;
}

type EngineLook = QueueLook & Pick<Facts, 'engine'>;

/** One look for the whole answer, so that its parts agree. */
async function lookAtEngine(deps: Deps): Promise<EngineLook> {
  return (await deps.engineHealth.isThere()) ? lookAtQueue(deps, PIPELINE) : { engine: 'unknown' };
}

function stuckAnswer({ id, owner, facts }: StuckRow, deps: Deps, engine: EngineLook): z.output<typeof Stuck> {
  const { reason, sentence, nextAction, nextAt } = diagnose({
    ...facts,
    pipeline: pipelineOf(deps, PIPELINE),
    ...engine,
  });
  const { state, beatAt, rescues } = facts.item;
  return {
    ...{ id, owner, state, rescues, since: beatAt.toISOString() },
    diagnosis: { reason, sentence, nextAction, nextAt: nextAt?.toISOString() ?? null },
  };
}
