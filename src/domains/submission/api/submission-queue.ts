import { z } from 'zod';
import { callerOf } from '../../../api/http/access.js';
import { actorOf } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { PauseAnswer, pauseAnswer, pauseBodyOf } from '../../../api/operators/pause-answer.js';
import { findPause, QueueStatusAnswer, readQueueStatus } from '../../../api/operators/queue-status.js';
import type { ApiParts, App } from '../../../api/parts.js';
import { AppError } from '../../../core/errors.js';
import { pausePipeline, resumePipeline } from '../../../db/spine/pipeline-pause.js';

const TAGS = ['submissions'];
const PIPELINE = 'submission';
const Paused = z.object({ paused: PauseAnswer.nullable() });

type Deps = Pick<ApiParts, 'pool' | 'engine' | 'pipelines' | 'schedules' | 'sweeps' | 'engineHealth' | 'settings'>;

export function addSubmissionQueueRoutes(app: App, deps: Deps): void {
  const { pool } = deps;

  app.get(
    '/api/v1/admin/queue/status',
    {
      config: { access: ['viewer', 'admin'] },
      schema: {
        tags: TAGS,
        summary: 'How the queue of submissions is: health, pause, throughput, what is stuck and what was given up',
        response: { 200: QueueStatusAnswer, ...problems(409) },
      },
    },
    () => readQueueStatus(deps, pipelineOf(deps, PIPELINE)),
  );

  app.post(
    '/api/v1/admin/queue/pause',
    {
      config: { access: ['admin'] },
      schema: {
        tags: TAGS,
        summary: 'Pause the queue for a while: what runs ends, nothing else begins',
        body: pauseBodyOf(deps.settings.pauses),
        response: { 200: Paused, ...problems(409, 413, 415) },
      },
    },
    async (request) => {
      const { for: forMs, reason } = request.body;
      await pausePipeline(pool, { pipeline: PIPELINE, actor: actorOf(callerOf(request)), reason, forMs });
      const pause = await findPause(deps, pipelineOf(deps, PIPELINE));
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
