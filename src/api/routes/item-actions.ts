import type { FastifyBaseLogger } from 'fastify';
import { z } from 'zod';
import { diagnose, type Diagnosis } from '../../core/diagnosis.js';
import { AppError } from '../../core/errors.js';
import { engineFactsOf, retryDecision, type RunLook } from '../../core/retry.js';
import { type Changed, pauseItem, rescueItem, resumeItem, retryItem } from '../../db/control.js';
import { findItemView, type ItemView } from '../../db/item-view.js';
import { firstStepOf } from '../../db/items.js';
import { callerOf } from '../access.js';
import type { App } from '../app.js';
import { lookAtRun } from '../ask-engine.js';
import { diagnosisOf } from '../item-answer.js';
import { answerFor, findVisible, pipelineOf, type ReaderDeps } from '../item-reader.js';
import { ItemAnswer, ItemParams } from '../item-schema.js';
import { actorOf, assertMayOperate, noSuchItem, WRITERS } from '../permissions.js';
import { problems } from '../problem.js';
import { spanField } from '../span-field.js';
import { tellEngine } from '../tell-engine.js';
import { text } from '../text.js';

const TAGS = ['items'];

const Reason = text(2_000);

const RetryBody = z.strictObject({
  from: text(100).optional().describe('Begin anew in this state; without it, go on where the item stands'),
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

/** What an operator does to one item. Each moves the row at once; the run is told afterwards, and by the dispatcher again. */
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
      const { from, reason } = request.body;
      const view = await findItemView(deps.prisma, id);
      if (!view) throw noSuchItem(id);
      const asked = { itemId: id, actor: actorOf(caller), reason };
      if (from !== undefined || view.item.endedAt) {
        await follow(deps, request.log, view, await retryItem(deps.pool, find, { ...asked, ...(from && { from }) }));
      } else {
        const { reason: stopped, sentence } = await diagnoseStopped(deps, view);
        const rescue = { ...asked, seen: view.item.epoch, cause: { reason: stopped, sentence, seenAt: view.now } };
        await follow(deps, request.log, view, await rescueItem(deps.pool, find, rescue));
      }
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
}

function endOf(until: string | undefined, forMs: number | undefined): Date | 'infinity' | { forMs: number } {
  if (until !== undefined) return new Date(until);
  return forMs === undefined ? 'infinity' : { forMs };
}

/** Why the item does not move, for its receipt; throws while it lives. The engine is asked only where the row does not know;
 *  that it does not answer matters only then. */
async function diagnoseStopped(deps: ReaderDeps, view: ItemView): Promise<Diagnosis> {
  const { item } = view;
  const facts = { ...view, pipeline: pipelineOf(deps, item.pipeline) };
  let look: RunLook | undefined;
  let decision = retryDecision(facts);
  if (decision === 'ask') {
    look = await lookAtRun(deps.engine, { pipeline: item.pipeline, itemId: item.id, epoch: item.epoch });
    decision = retryDecision(facts, look);
  }
  if (decision === 'ask') {
    throw new AppError('engine_unavailable', `Temporal does not answer, and only it knows whether ${item.id} is alive`);
  }
  const diagnosis = diagnose({ ...facts, ...(look && engineFactsOf(look)) });
  if (decision === 'rescue') return diagnosis;
  throw new AppError('still_alive', `item ${item.id} is not stuck: ${diagnosis.sentence} ${diagnosis.nextAction}`, {
    facts: { state: item.state, version: item.version, diagnosis: diagnosisOf(diagnosis) },
  });
}

/** Starts the new run and ends the old one. Both are best effort: the dispatcher starts what is not started, and a run of an
 *  earlier epoch ends by itself at its next look at the row. */
async function follow(deps: ReaderDeps, log: FastifyBaseLogger, { item }: ItemView, changed: Changed): Promise<void> {
  const { pipeline, itemId, epoch } = changed;
  const step = firstStepOf(pipelineOf(deps, pipeline), changed);
  await tellEngine(log, () => deps.engine.start({ pipeline, itemId, epoch, step }));
  await tellEngine(log, () => deps.engine.end({ pipeline, itemId, epoch: item.epoch }));
}
