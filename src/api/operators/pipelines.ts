import { z } from 'zod';
import { AppError } from '../../core/errors.js';
import { isAwaits, isDoes, isEnd, isRests, retryStates } from '../../core/machine.js';
import type { Pipeline, StateRow } from '../../core/pipeline.js';
import { msOf } from '../../core/span.js';
import { readFigures } from '../../db/reads/figures.js';
import { listPauses, type Pause, pausePipeline, resumePipeline } from '../../db/spine/pipeline-pause.js';
import { callerOf } from '../http/access.js';
import { Degraded } from '../items/degraded.js';
import type { ApiParts, App } from '../parts.js';
import { PauseAnswer, pauseAnswer, pauseBodyOf } from './pause-answer.js';
import { actorOf, OPERATORS } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { textUpTo } from '../http/text-up-to.js';

const TAGS = ['pipelines'];

const PipelineAnswer = z.object({
  name: z.string(),
  start: z.string(),
  cancelled: z.string(),
  states: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(['does', 'awaits', 'rests', 'ends']),
      count: z.int().nullable().describe('Live items in it; null in a final state, whose items are not counted'),
      oldestAgeSeconds: z.number().nullable().describe('Of its oldest live item; null: there is no live item'),
      mayBeginRetry: z.boolean().describe('Whether a retry may begin from it'),
    }),
  ),
  paused: PauseAnswer.nullable(),
  sweep: z.object({ everyMs: z.int(), staleAfterMs: z.int(), stuckAfterMs: z.int() }),
  rescue: z.object({ budget: z.int(), backoffMs: z.array(z.int()), budgetResetAfterMs: z.int() }),
});
type PipelineAnswer = z.output<typeof PipelineAnswer>;

const PipelineParams = z.object({ name: textUpTo(100) });

type Deps = Pick<ApiParts, 'pool' | 'prisma' | 'pipelines' | 'engineHealth' | 'settings'>;

export function addPipelineRoutes(app: App, deps: Deps): void {
  const { pool, pipelines } = deps;

  app.get(
    '/api/v1/pipelines',
    {
      config: { access: OPERATORS },
      schema: {
        tags: TAGS,
        summary: 'The pipelines: their states, what is in them, and when they are swept',
        response: { 200: z.object({ pipelines: z.array(PipelineAnswer), degraded: Degraded }), ...problems() },
      },
    },
    async () => {
      const [{ items }, pauses, isEngineThere] = await Promise.all([
        readFigures(deps.prisma),
        listPauses(pool),
        deps.engineHealth.isThere(),
      ]);
      const answers = Object.values(pipelines).map((each) => pipelineAnswer(each, items, pauses));
      return { pipelines: answers, degraded: !isEngineThere };
    },
  );

  app.post(
    '/api/v1/pipelines/:name/pause',
    {
      config: { access: ['admin'] },
      schema: {
        tags: TAGS,
        summary: 'Pause a pipeline for a while: what runs ends, nothing else begins',
        params: PipelineParams,
        body: pauseBodyOf(deps.settings.pauses),
        response: { 200: z.object({ name: z.string(), paused: PauseAnswer }), ...problems(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const { name } = request.params;
      assertKnown(pipelines, name);
      const { for: forMs, reason } = request.body;
      await pausePipeline(pool, { pipeline: name, actor: actorOf(callerOf(request)), reason, forMs });
      const pause = (await listPauses(pool)).find((each) => each.pipeline === name);
      // Resumed by somebody else in this moment.
      if (!pause) throw new AppError('state_conflict', `the pipeline ${name} was resumed by somebody else meanwhile`);
      return { name, paused: pauseAnswer(pause) };
    },
  );

  app.post(
    '/api/v1/pipelines/:name/resume',
    {
      config: { access: ['admin'] },
      schema: {
        tags: TAGS,
        summary: 'Resume a paused pipeline: its waiting items go on',
        params: PipelineParams,
        body: z.strictObject({ reason: textUpTo(2_000).optional() }),
        response: { 200: z.object({ name: z.string(), paused: z.null() }), ...problems(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const { name } = request.params;
      assertKnown(pipelines, name);
      const actor = actorOf(callerOf(request));
      if (!(await resumePipeline(pool, { pipeline: name, actor, reason: request.body.reason }))) {
        throw new AppError('state_conflict', `the pipeline ${name} is not paused`);
      }
      return { name, paused: null };
    },
  );
}

function assertKnown(pipelines: Deps['pipelines'], name: string): void {
  if (!Object.hasOwn(pipelines, name)) throw new AppError('not_found', `there is no pipeline ${name}`);
}

type Counted = { pipeline: string; state: string; count: number; oldestAgeSeconds: number };

function pipelineAnswer(pipeline: Pipeline, counted: readonly Counted[], pauses: readonly Pause[]): PipelineAnswer {
  const { name, start, cancelled, sweep, rescue } = pipeline;
  const retryFrom = retryStates(pipeline);
  const pause = pauses.find((each) => each.pipeline === name);
  return {
    name,
    start,
    cancelled,
    states: Object.entries(pipeline.states).map(([state, row]) => {
      const live = counted.find((each) => each.pipeline === name && each.state === state);
      return {
        name: state,
        kind: kindOf(row),
        count: isEnd(row) ? null : (live?.count ?? 0),
        oldestAgeSeconds: live?.oldestAgeSeconds ?? null,
        mayBeginRetry: retryFrom.includes(state),
      };
    }),
    paused: pause ? pauseAnswer(pause) : null,
    sweep: {
      everyMs: msOf(sweep.every),
      staleAfterMs: msOf(sweep.staleAfter),
      stuckAfterMs: msOf(sweep.stuckAfter),
    },
    rescue: {
      budget: rescue.budget,
      backoffMs: rescue.backoff.map(msOf),
      budgetResetAfterMs: msOf(rescue.budgetResetAfter),
    },
  };
}

function kindOf(row: StateRow): 'does' | 'awaits' | 'rests' | 'ends' {
  if (isDoes(row)) return 'does';
  if (isAwaits(row)) return 'awaits';
  return isRests(row) ? 'rests' : 'ends';
}
