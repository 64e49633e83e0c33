import { z } from 'zod';
import { cancelItem } from '../../db/spine/control.js';
import { callerOf } from '../http/access.js';
import type { App } from '../parts.js';
import { decide, type DecideDeps } from './decide.js';
import { IdempotencyHeaders } from '../http/idempotency-key.js';
import { answerFor, findVisible, pipelineOf } from './item-reader.js';
import { ItemAnswer, ItemParams } from './item-schema.js';
import { actorOf, assertMayCancel, WRITERS } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { tellEngine } from './tell-engine.js';
import { textUpTo } from '../http/text-up-to.js';

const TAGS = ['items'];

const DecisionBody = z.strictObject({
  outcome: textUpTo(50),
  reason: textUpTo(2_000).optional().describe('Needed for the outcomes that the table of the pipeline says so of'),
});

const CancelBody = z.strictObject({ reason: textUpTo(2_000).optional() });

export function addItemRoutes(app: App, deps: DecideDeps): void {
  app.get(
    '/api/v1/items/:id',
    {
      schema: {
        tags: TAGS,
        summary: 'An item: where it is, what it does, what it did, and why it does not move',
        params: ItemParams,
        response: { 200: ItemAnswer, ...problems(404) },
      },
    },
    (request) => answerFor(deps, callerOf(request), request.params.id),
  );

  app.post(
    '/api/v1/items/:id/decisions',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Decide, in a state that awaits a person',
        description: 'Refused with 400 (`reason_needed`) where this outcome needs a reason and none is given.',
        params: ItemParams,
        headers: IdempotencyHeaders,
        body: DecisionBody,
        response: { 200: ItemAnswer, ...problems(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const head = await findVisible(deps, caller, request.params.id);
      await decide(deps, request.log, { caller, head, ...request.body, key: request.headers['idempotency-key'] });
      return answerFor(deps, caller, head.id);
    },
  );

  app.post(
    '/api/v1/items/:id/cancel',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Cancel an item: it ends at once in its failing state',
        params: ItemParams,
        body: CancelBody,
        response: { 200: ItemAnswer, ...problems(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const head = await findVisible(deps, caller, request.params.id);
      assertMayCancel(caller, head);
      const asked = { itemId: head.id, actor: actorOf(caller), reason: request.body.reason };
      const changed = await cancelItem(deps.pool, (name) => pipelineOf(deps, name), asked);
      await tellEngine(request.log, () => deps.engine.end(changed));
      return answerFor(deps, caller, head.id);
    },
  );
}
