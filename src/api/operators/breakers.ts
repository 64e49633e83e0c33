import { z } from 'zod';
import { ERROR_CLASSES } from '../../core/error-class.js';
import { type BreakerRecord, listBreakers } from '../../db/reads/breaker-list.js';
import { closeByHand } from '../../db/recovery/close-breaker.js';
import { callerOf } from '../http/access.js';
import type { ApiDeps, App } from '../parts.js';
import { actorOf } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { textUpTo } from '../http/text-up-to.js';

const TAGS = ['operation'];

const BreakerAnswer = z
  .object({
    pipeline: z.string(),
    class: z.string(),
    state: z.enum(['open', 'releasing', 'closed']),
    stages: z.array(z.string()).describe('The stages whose attempts failed and whose claims are held'),
    reason: z.string(),
    since: z.iso.datetime(),
    closedAt: z.iso.datetime().nullable(),
    nextPassAt: z.iso.datetime().nullable().describe('When the next item may pass'),
    probing: z.boolean().describe('An item was let through and its attempt has not ended'),
    perSecond: z
      .number()
      .nullable()
      .describe('Items released in a second; null: only single items pass, one at a time'),
    waiting: z.int().describe('Live items in the states that it holds, at the last count'),
  })
  .meta({ id: 'Breaker', description: 'A breaker holds the stages of a pipeline back in a storm of failures' });
type BreakerAnswer = z.output<typeof BreakerAnswer>;

const Breakers = z.object({ breakers: z.array(BreakerAnswer) });

const BreakerParams = z.object({ pipeline: textUpTo(100), class: z.enum(ERROR_CLASSES) });

const CloseBody = z.strictObject({ reason: textUpTo(2_000) });

type Deps = Pick<ApiDeps, 'pool' | 'prisma'>;

export function addBreakerRoutes(app: App, deps: Deps): void {
  app.get(
    '/api/v1/breakers',
    {
      config: { access: ['viewer', 'admin'] },
      schema: {
        tags: TAGS,
        summary: 'The breakers: what is held back, since when, and when the next item is let through',
        response: { 200: Breakers, ...problems() },
      },
    },
    () => answerOf(deps),
  );

  app.post(
    '/api/v1/breakers/:pipeline/:class/close',
    {
      config: { access: ['admin'] },
      schema: {
        tags: TAGS,
        summary: 'Close a breaker by hand: what waits goes on within seconds',
        params: BreakerParams,
        body: CloseBody,
        response: { 200: Breakers, ...problems(404, 413, 415) },
      },
    },
    async (request) => {
      const { params, body } = request;
      const asked = { ...params, actor: actorOf(callerOf(request)), reason: body.reason };
      await closeByHand(deps.pool, asked);
      return answerOf(deps);
    },
  );
}

async function answerOf({ prisma }: Deps): Promise<z.output<typeof Breakers>> {
  return { breakers: (await listBreakers(prisma)).map(breakerAnswer) };
}

function breakerAnswer(row: BreakerRecord): BreakerAnswer {
  const { pipeline, class: errorClass, stages, reason, probing, waiting } = row;
  const state = stateOf(row);
  return {
    pipeline,
    class: errorClass,
    state,
    stages,
    reason,
    probing,
    waiting,
    since: row.openedAt.toISOString(),
    closedAt: row.closedAt?.toISOString() ?? null,
    nextPassAt: state === 'closed' ? null : row.nextPassAt.toISOString(),
    perSecond: state === 'releasing' ? row.perSecond : null,
  };
}

function stateOf({ state }: BreakerRecord): BreakerAnswer['state'] {
  return state === 'open' || state === 'releasing' ? state : 'closed';
}
