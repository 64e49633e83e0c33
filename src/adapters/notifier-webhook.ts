import { Webhook } from 'standardwebhooks';
import type { Notice, Notifier } from '../ports/notifier.js';
import { createPostJson, type PostOptions } from './post-json.js';

/** Signs by Standard Webhooks (standardwebhooks.com). `secret` is whsec_ and base64. */
export function createWebhookNotifier({ secret, ...options }: PostOptions & { secret: string }): Notifier {
  const webhook = new Webhook(secret);
  const post = createPostJson(options);
  return {
    // A person who is not the owner left the mail address for one letter. The receiver of the webhook is not told of it.
    reaches: ({ mailTo, owner }) => mailTo === null || owner !== null,
    async deliver(notice, signal) {
      const body = bodyOf(notice);
      const id = encodeURI(notice.id);
      // The time of this try and not of the event, because receivers refuse a request that is older than a few minutes.
      const at = new Date();
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
        'webhook-signature': webhook.sign(id, at, body),
      };
      await post(body, headers, signal);
    },
  };
}

/** The same text at every try. */
function bodyOf({ kind, at, id, sentence, pipeline, itemId, owner, payload }: Notice): string {
  const data = { id, sentence, pipeline, itemId, owner, payload };
  return JSON.stringify({ type: kind, timestamp: at.toISOString(), data });
}
