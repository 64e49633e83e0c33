import { z } from 'zod';
import { listMoves } from '../../db/reads/event-feed.js';
import type { ItemHead } from '../../db/reads/item-view.js';
import type { FeedEvent, FeedPosition } from '../../ports/event-hub.js';
import { callerOf } from '../http/access.js';
import type { ApiParts, App, FollowPart } from '../parts.js';
import type { Caller } from '../http/auth.js';
import { followItem } from './follow-item.js';
import { answerFor, findVisible } from './item-reader.js';
import { ItemParams } from './item-schema.js';
import { createOpenStreams } from '../http/open-streams.js';
import { hasRole, noSuchItem, OPERATORS } from '../http/permissions.js';
import { problems } from '../http/problem.js';
import { beginOrClose, STREAM_HEADERS, STREAM_MEDIA, STREAM_OPTIONS } from '../http/stream-route.js';
import { streamedText } from '../http/streamed-text.js';
import { textUpTo } from '../http/text-up-to.js';

const TAGS = ['events'];

const OPTIONS = { ...STREAM_OPTIONS, config: { isStream: true } };

/** A reader who comes back is told at most this many missed moves of an item. The snapshot that follows has the
 *  rest. */
const MISSED_MOVES = 200;

const ITEMS: FollowedKind = { kind: 'items', pipeline: null, summary: 'What happens to an item, as it happens' };

type FollowedKind = Omit<FollowPart, 'pipeline'> & { pipeline: string | null };

export function addEventRoutes(app: App, deps: ApiParts): void {
  const { hub } = deps;
  const streams = createOpenStreams(app, deps.settings.limits);

  const kinds: FollowedKind[] = [ITEMS, ...deps.follows];
  for (const { kind, version = 'v1', pipeline, summary, snapshotFor } of kinds) {
    const path = `/api/${version}/${kind}`;
    app.get(
      `${path}/:id/events`,
      {
        ...OPTIONS,
        schema: {
          tags: TAGS,
          summary,
          description:
            `\`snapshot\` first: the item as \`GET ${snapshotFor ? path : '/api/v1/items'}/{id}\` shows it. ` +
            'Then `move` for each change, whose id is the version of the item, and `inflight` at most once a second while something runs. ' +
            'With `Last-Event-ID` the moves that were missed come before the snapshot.',
          params: ItemParams,
          headers: z.looseObject({
            'last-event-id': z
              .string()
              .regex(/^\d{1,9}$/, 'must be a version')
              .optional(),
          }),
          response: { 200: streamedText(STREAM_MEDIA, 'Server-sent events'), ...problems(404) },
        },
      },
      async (request, reply) => {
        const caller = callerOf(request);
        const { id } = await findFollowed(deps, caller, request.params.id, pipeline);
        const last = request.headers['last-event-id'];
        const stream = streams.open(caller.sub);
        await beginOrClose(stream, async () => {
          const missed = last === undefined ? [] : await listMoves(deps.prisma, id, Number(last), MISSED_MOVES);
          const snapshot = await (snapshotFor ?? answerFor)(deps, caller, id);
          followItem(stream, { hub, prisma: deps.prisma, log: request.log, missed, snapshot });
        });
        return reply.type(STREAM_MEDIA).headers(STREAM_HEADERS).send(stream.readable);
      },
    );
  }

  app.get(
    '/api/v1/events',
    {
      ...OPTIONS,
      schema: {
        tags: TAGS,
        summary: 'Moves of the caller’s items, as they happen; for operators of all items',
        description:
          '`ready` first, then `move` for each change. `Last-Event-ID` resumes without a gap; `reset` says that too much was missed to be told: load the list anew.',
        querystring: z.strictObject({ pipeline: textUpTo(100).optional() }),
        headers: z.looseObject({
          'last-event-id': z.string().regex(POSITION, 'must be the id of an event of this feed').optional(),
        }),
        response: { 200: streamedText(STREAM_MEDIA, 'Server-sent events'), ...problems() },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const after = positionOf(request.headers['last-event-id']);
      const stream = streams.open(caller.sub);
      await beginOrClose(stream, async () => {
        const listener = {
          owner: hasRole(caller, ...OPERATORS) ? null : caller.sub,
          pipeline: request.query.pipeline ?? null,
          send: (event: FeedEvent) => {
            stream.send({ event: 'move', id: idOf(event), data: moveOf(event) });
          },
          reset: () => {
            stream.send({ event: 'reset', data: {} });
          },
        };
        const following = await hub.follow(listener, after);
        stream.onClose(following.stop);
        if (!stream.isOpen()) following.stop();
        stream.resumesAt(() => idOf(following.position()));
        stream.send({ event: 'ready', id: idOf(following.position()), data: {} });
      });
      return reply.type(STREAM_MEDIA).headers(STREAM_HEADERS).send(stream.readable);
    },
  );
}

/** An item of another pipeline is answered as if it did not exist. */
async function findFollowed(deps: ApiParts, caller: Caller, id: string, pipeline: string | null): Promise<ItemHead> {
  const head = await findVisible(deps, caller, id);
  if (pipeline !== null && head.pipeline !== pipeline) throw noSuchItem(id);
  return head;
}

const POSITION = /^\d{1,19}\.\d{1,18}$/;

function positionOf(lastEventId: string | undefined): FeedPosition | null {
  const [xact, id] = lastEventId?.split('.') ?? [];
  return xact === undefined || id === undefined ? null : { xact, id };
}

function idOf({ xact, id }: FeedPosition): string {
  return `${xact}.${id}`;
}

function moveOf({ itemId, pipeline, owner, version, from, to, trigger, actor, actorType, at }: FeedEvent) {
  return { itemId, pipeline, owner, version, from, to, trigger, actor, actorType, at: at.toISOString() };
}
