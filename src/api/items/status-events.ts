import { z } from 'zod';
import { createOpenStreams } from '../http/open-streams.js';
import { openProblems } from '../http/problem.js';
import { beginOrClose, STREAM_HEADERS, STREAM_MEDIA, STREAM_OPTIONS } from '../http/stream-route.js';
import { streamedText } from '../http/streamed-text.js';
import type { ApiParts, App } from '../parts.js';
import { followStatus } from './follow-status.js';

/** The status that anybody with a link may follow. */
export interface FollowedStatus {
  /** The route that takes the token behind it, as the links have it. */
  path: string;
  tag: string;
  summary: string;
  /** The item that the link leads to. Throws `not_found` where it leads to none. */
  itemOf(token: string): Promise<string>;
  /** The status as the link's own page shows it. Null: the item was deleted. */
  statusOf(itemId: string): Promise<object | null>;
}

/** Adds the events of a status link: the whole status first, and again whenever it has changed. Anonymous readers have places
 *  of their own, so they can't take those of signed-in callers. */
export function addStatusEventRoute(
  app: App,
  { hub, settings }: Pick<ApiParts, 'hub' | 'settings'>,
  { path, tag, summary, itemOf, statusOf }: FollowedStatus,
): void {
  const streams = createOpenStreams(app, settings.limits);
  app.get(
    `${path}/:token/events`,
    {
      ...STREAM_OPTIONS,
      config: { access: 'open', isStream: true },
      schema: {
        tags: [tag],
        summary,
        description: `\`status\` first: the answer of \`GET ${path}/{token}\`. Then \`status\` again whenever it has changed.`,
        params: z.object({ token: z.string().max(200) }),
        response: { 200: streamedText(STREAM_MEDIA, 'Server-sent events'), ...openProblems(404) },
      },
    },
    async (request, reply) => {
      const itemId = await itemOf(request.params.token);
      const stream = streams.open(request.ip);
      await beginOrClose(stream, () => followStatus(stream, { hub, log: request.log, itemId, statusOf }));
      return reply
        .type(STREAM_MEDIA)
        .headers({ ...STREAM_HEADERS, 'X-Robots-Tag': 'noindex' })
        .send(stream.readable);
    },
  );
}
