import { z } from 'zod';
import { estimateOf } from '../../../core/queue-estimate.js';
import { listQueued, QUEUE_CAP, readThroughput } from '../../../db/reads/queue.js';
import { findSkillNames } from '../db/submissions.js';
import { callerOf } from '../../../api/http/access.js';
import type { ApiParts, App } from '../../../api/parts.js';
import { Degraded } from '../../../api/items/degraded.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { hasRole, OPERATORS } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { EstimateAnswer } from '../../../api/items/queue-place.js';

/** As many positions as anybody reads. */
const SHOWN = 100;

const Answer = z.object({
  total: z
    .int()
    .nullable()
    .describe(`Of the whole queue, up to ${QUEUE_CAP}; null: no item of the caller is among them`),
  positions: z
    .array(
      z.object({
        id: z.uuid(),
        skillName: z.string(),
        state: z.string(),
        priority: z.int(),
        createdAt: z.iso.datetime(),
        position: z
          .int()
          .min(1)
          .describe(
            'From 1, an estimate: what runs, then level by level of priority, in which the owners take turns. The order is Temporal’s, and ' +
              'without its setting `matching.enableFairness` it is age alone',
          ),
        estimate: EstimateAnswer,
      }),
    )
    .describe(`The first ${SHOWN} of the caller’s own; for operators, of all`),
  degraded: Degraded,
});

export function addSubmissionPositionsRoute(
  app: App,
  deps: Pick<ApiParts, 'pool' | 'pipelines' | 'engineHealth'>,
): void {
  app.get(
    '/api/v1/submissions/positions',
    {
      schema: {
        tags: ['submissions'],
        summary: 'Where submissions stand in the queue, and how long that may take',
        querystring: z.strictObject({}),
        response: { 200: Answer, ...problems(409) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const pipeline = pipelineOf(deps, 'submission');
      const owner = hasRole(caller, ...OPERATORS) ? null : caller.sub;
      const [queued, throughput, isEngineThere] = await Promise.all([
        listQueued(deps.pool, pipeline, { owner, limit: SHOWN }),
        readThroughput(deps.pool, pipeline),
        deps.engineHealth.isThere(),
      ]);
      const names = await findSkillNames(
        deps.pool,
        queued.map(({ id }) => id),
      );
      return {
        total: queued[0]?.total ?? null,
        positions: queued.map(({ id, state, priority, createdAt, position, isPaused }) => ({
          id,
          state,
          priority,
          position,
          createdAt: createdAt.toISOString(),
          skillName: names.get(id) ?? '',
          estimate: estimateOf(position, throughput, isPaused),
        })),
        degraded: !isEngineThere,
      };
    },
  );
}
