import { z } from 'zod';
import { type ListedAction, listOperatorActions } from '../../db/reads/operator-action-list.js';
import { cursorOf, positionIn } from '../http/cursor.js';
import { problems } from '../http/problem.js';
import { textUpTo } from '../http/text-up-to.js';
import type { ApiDeps, App } from '../parts.js';

const Moment = z.iso.datetime({ offset: true }).transform((value) => new Date(value));

const Page = z.strictObject({
  target: textUpTo(200).optional().describe('The object, such as `pipeline:<name>` or `schedule:<id>`'),
  actor: textUpTo(200).optional().describe('Who did it: the subject of a token'),
  action: textUpTo(100).optional().describe('The act, such as `pause`, `resume` or `trigger`'),
  since: Moment.optional().describe('Done at this time or later'),
  until: Moment.optional().describe('Done before this time'),
  cursor: z.string().max(500).optional().describe('`nextCursor` of the page before'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

const ActionAnswer = z
  .object({
    id: z.string(),
    action: z.string(),
    target: z.string(),
    reason: z.string().nullable(),
    actor: z.string(),
    actorType: z.string(),
    metadata: z.record(z.string(), z.unknown()),
    at: z.iso.datetime(),
  })
  .meta({ id: 'OperatorAction' });

export function addOperatorActionRoute(app: App, { pool }: Pick<ApiDeps, 'pool'>): void {
  app.get(
    '/api/v1/operator-actions',
    {
      config: { access: ['viewer', 'admin'] },
      schema: {
        tags: ['operator actions'],
        summary: 'What operators did to pipelines, schedules and breakers, the newest first',
        description: 'What was done to one item is in its timeline.',
        querystring: Page,
        response: {
          200: z.object({ actions: z.array(ActionAnswer), nextCursor: z.string().nullable() }),
          ...problems(),
        },
      },
    },
    async ({ query }) => {
      const { cursor, limit, ...filter } = query;
      const before = positionIn(cursor, filter, (position) => /^\d{1,18}$/.test(position));
      const found = await listOperatorActions(pool, filter, { before, limit: limit + 1 });
      const shown = found.slice(0, limit);
      const last = shown.at(-1);
      return {
        actions: shown.map(answerOf),
        nextCursor: last && found.length > limit ? cursorOf(last.id, filter) : null,
      };
    },
  );
}

function answerOf({ at, metadata, ...action }: ListedAction): z.output<typeof ActionAnswer> {
  return { ...action, metadata: z.record(z.string(), z.unknown()).parse(metadata), at: at.toISOString() };
}
