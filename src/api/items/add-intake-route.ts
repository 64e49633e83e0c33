import { z } from 'zod';
import type { Answer } from '../../db/spine/idempotency.js';
import type { Statement } from '../../ports/sql.js';
import { callerOf } from '../http/access.js';
import type { Caller } from '../http/auth.js';
import { IdempotencyHeaders } from '../http/idempotency-key.js';
import { actorOf, WRITERS } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import type { ApiDeps, App } from '../parts.js';
import { acceptItems } from './accept-items.js';
import { pipelineOf } from './item-reader.js';

const Accepted = z.object({
  id: z.uuid(),
  state: z.string(),
  createdAt: z.iso.datetime(),
  statusUrl: z.string(),
});

export interface IntakeRoute<Body extends z.ZodType> {
  pipeline: string;
  path: string;
  /** The group of the API's reference that shows the route. */
  tag: string;
  summary: string;
  body: Body;
  /** The domain's own row, inserted with the item. Throws where this caller may not ask for it. */
  row(body: z.output<Body>, caller: Caller): Statement;
}

/** Adds a route by which a caller submits one item, whose pipeline has no dedupe key. */
export function addIntakeRoute<Body extends z.ZodType>(
  app: App,
  deps: Pick<ApiDeps, 'pool' | 'engine' | 'pipelines'>,
  { pipeline: name, path, tag, summary, body: Body, row }: IntakeRoute<Body>,
): void {
  app.post(
    path,
    {
      config: { access: WRITERS },
      schema: {
        tags: [tag],
        summary,
        headers: IdempotencyHeaders,
        body: Body,
        response: { 202: Accepted, ...problems(409, 413, 415) },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const body = request.body as z.output<Body>;
      const ownRow = row(body, caller);
      const bringing = {
        log: request.log,
        caller,
        route: `POST ${path}`,
        key: request.headers['idempotency-key'],
        body,
        brings: 'one',
      } as const;
      const pipeline = pipelineOf(deps, name);
      const answer = await acceptItems(deps, bringing, async (intake): Promise<Answer> => {
        const created = await intake.create(pipeline, { actor: actorOf(caller), trigger: 'submitted', row: ownRow });
        if (!created.created) throw new Error(`an item of ${name} has no dedupe key and yet a duplicate`);
        const { id, createdAt } = created;
        const statusUrl = `/api/v1/items/${id}`;
        return {
          status: 202,
          body: { id, state: pipeline.start, createdAt: createdAt.toISOString(), statusUrl },
        };
      });
      return reply.code(202).send(Accepted.parse(answer.body));
    },
  );
}
