import { z } from 'zod';
import { pauseItem, resumeItem } from '../../db/spine/control.js';
import { callerOf } from '../http/access.js';
import type { App } from '../parts.js';
import { answerFor, findVisible, pipelineOf, type ReaderDeps } from './item-reader.js';
import { ItemAnswer, ItemParams } from './item-schema.js';
import { actorOf, assertMayOperate, WRITERS } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { PriorityBody, reprioritize } from './reprioritize.js';
import { retry } from './retry.js';
import { spanField } from '../http/span-field.js';
import { tellEngine } from './tell-engine.js';
import { textUpTo } from '../http/text-up-to.js';

const TAGS = ['items'];

const Reason = textUpTo(2_000);

const RetryBody = z.strictObject({
  from: textUpTo(100).optional().describe('Begin anew in this state; without it, go on where the item stands'),
  reason: Reason.optional(),
});

const PauseBody = z
  .strictObject({
    until: z.iso
      .datetime({ offset: true })
      .refine((value) => Date.parse(value) > Date.now(), 'must be in the future')
      .optional(),
    for: spanField('365d').optional().describe('Instead of a time: how long, such as 90s, 15m or 2h'),
    reason: Reason,
  })
  .refine((body) => body.until === undefined || body.for === undefined, {
    path: ['for'],
    error: 'give a time or a length, not both',
  });

const ResumeBody = z.strictObject({ reason: Reason.optional() });

const response = { 200: ItemAnswer, ...problems(404, 409, 413, 415) };

/** The actions of operators on one item. Each action moves the row at once. The run is told afterwards, and told again
 *  by the dispatcher. */
export function addItemActionRoutes(app: App, deps: ReaderDeps): void {
  const find = (name: string) => pipelineOf(deps, name);

  app.post(
    '/api/v1/items/:id/retry',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Drive an item on: where it stands, or anew from a chosen state',
        description:
          'Refused with 409 and the diagnosis while the item lives. An item that has ended is opened again, if its table says so.',
        params: ItemParams,
        body: RetryBody,
        response,
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { id } = await findVisible(deps, caller, request.params.id);
      assertMayOperate(caller, 'retry');
      await retry(deps, request.log, { ...request.body, itemId: id, actor: actorOf(caller) });
      return answerFor(deps, caller, id);
    },
  );

  app.post(
    '/api/v1/items/:id/pause',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Pause an item: what runs ends, nothing else begins',
        description: 'Until a time, for a length of time, or without either until somebody resumes it.',
        params: ItemParams,
        body: PauseBody,
        response,
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { id } = await findVisible(deps, caller, request.params.id);
      assertMayOperate(caller, 'pause');
      const { until, for: forMs, reason } = request.body;
      const asked = { itemId: id, actor: actorOf(caller), reason, until: endOf(until, forMs) };
      const changed = await pauseItem(deps.pool, find, asked);
      await tellEngine(request.log, () => deps.engine.wake(changed));
      return answerFor(deps, caller, id);
    },
  );

  app.post(
    '/api/v1/items/:id/resume',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Resume a paused item at once',
        params: ItemParams,
        body: ResumeBody,
        response,
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { id } = await findVisible(deps, caller, request.params.id);
      assertMayOperate(caller, 'resume');
      const asked = { itemId: id, actor: actorOf(caller), reason: request.body.reason };
      const changed = await resumeItem(deps.pool, find, asked);
      await tellEngine(request.log, () => deps.engine.wake(changed));
      return answerFor(deps, caller, id);
    },
  );

  app.post(
    '/api/v1/items/:id/reprioritize',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Let an item go sooner or later than others that wait',
        description:
          'An item that waits for a worker gets a new run at its new level, which costs it nothing. A stage that runs, or waits for its ' +
          'retry, keeps its level, and the next stage has the new one. Levels and turns are Temporal’s, and need its setting ' +
          '`matching.enableFairness`.',
        params: ItemParams,
        body: PriorityBody,
        response,
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { id } = await findVisible(deps, caller, request.params.id);
      assertMayOperate(caller, 'reprioritize');
      await reprioritize(deps, request.log, { ...request.body, itemId: id, actor: actorOf(caller) });
      return answerFor(deps, caller, id);
    },
  );
}

function endOf(until: string | undefined, forMs: number | undefined): Date | 'infinity' | { forMs: number } {
  if (until !== undefined) return new Date(until);
  return forMs === undefined ? 'infinity' : { forMs };
}
