import { z } from 'zod';
import { type DeliveryState, listNotifications, type Notification } from '../../db/reads/notifications.js';
import type { ApiDeps, App } from '../parts.js';
import { cursorOf, positionIn } from '../http/cursor.js';
import { OPERATORS } from '../http/permissions.js';
import { problems } from '../http/problem.js';

const Time = z.iso.datetime();

const Page = z.strictObject({
  failed: z.enum(['true', 'false']).optional().describe('true: only notifications with a delivery that was given up'),
  cursor: z.string().max(2_000).optional().describe('`nextCursor` of the page before'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

const DeliveryAnswer = z.object({
  channel: z.string(),
  status: z.enum(['waiting', 'delivered', 'failed']).describe('failed: given up'),
  tries: z.int(),
  nextTryAt: Time.nullable(),
  deliveredAt: Time.nullable(),
  failedAt: Time.nullable(),
  lastError: z.string().nullable(),
});

const NotificationAnswer = z
  .object({
    id: z.string().describe('The id that receivers get'),
    kind: z.string(),
    sentence: z.string(),
    pipeline: z.string().nullable(),
    itemId: z.uuid().nullable(),
    owner: z.string().nullable().describe('The owner who is told; null: the operators are told'),
    isPrivate: z
      .boolean()
      .describe('One person alone is told, at the address that came with the item; operators are not'),
    payload: z.record(z.string(), z.unknown()),
    at: Time,
    deliveries: z
      .array(DeliveryAnswer)
      .describe('Empty until its channels are chosen, and for an event that a later notification counts'),
  })
  .meta({ id: 'Notification' });

export function addNotificationRoutes(app: App, { pool }: Pick<ApiDeps, 'pool'>): void {
  app.get(
    '/api/v1/notifications',
    {
      config: { access: OPERATORS },
      schema: {
        tags: ['notifications'],
        summary: 'The notifications, their channels, and the deliveries that failed; the newest first',
        querystring: Page,
        response: {
          200: z.object({ notifications: z.array(NotificationAnswer), nextCursor: z.string().nullable() }),
          ...problems(),
        },
      },
    },
    async ({ query }) => {
      const { cursor, limit, ...filter } = query;
      const before = placeIn(positionIn(cursor, filter, (position) => placeIn(position) !== null));
      const failed = filter.failed === 'true';
      const found = await listNotifications(pool, { failed, before, limit: limit + 1 });
      const shown = found.slice(0, limit);
      const last = shown.at(-1);
      const nextCursor = last && found.length > limit ? cursorOf(positionOf(last), filter) : null;
      return { notifications: shown.map(answerOf), nextCursor };
    },
  );
}

/** An id may hold anything; a position holds no blanks. */
function positionOf({ at, id }: Pick<Notification, 'at' | 'id'>): string {
  return `${at.getTime()}:${encodeURIComponent(id)}`;
}

function placeIn(position: string | null): { at: Date; id: string } | null {
  const [, ms, id] = /^(\d{1,15}):([\w.!~*'()%-]+)$/.exec(position ?? '') ?? [];
  if (ms === undefined || id === undefined) return null;
  try {
    return { at: new Date(Number(ms)), id: decodeURIComponent(id) };
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

/** The address stays where it is: operators need to know that mail went, not to whom. */
function answerOf({ at, deliveries, mailTo, ...rest }: Notification): z.output<typeof NotificationAnswer> {
  return { ...rest, isPrivate: mailTo !== null, at: at.toISOString(), deliveries: deliveries.map(deliveryAnswer) };
}

function deliveryAnswer(state: DeliveryState): z.output<typeof DeliveryAnswer> {
  const { channel, tries, lastError, dueAt, deliveredAt, failedAt } = state;
  const status = statusOf(state);
  return {
    channel,
    status,
    tries,
    nextTryAt: status === 'waiting' ? dueAt.toISOString() : null,
    deliveredAt: deliveredAt?.toISOString() ?? null,
    failedAt: failedAt?.toISOString() ?? null,
    lastError,
  };
}

function statusOf({ deliveredAt, failedAt }: DeliveryState): 'delivered' | 'failed' | 'waiting' {
  if (deliveredAt) return 'delivered';
  return failedAt ? 'failed' : 'waiting';
}
