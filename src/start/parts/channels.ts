import type { Logger } from 'pino';
import { createLogNotifier } from '../../adapters/notifier-log.js';
import { createSlackNotifier } from '../../adapters/notifier-slack.js';
import { createSmtpNotifier } from '../../adapters/notifier-smtp.js';
import { createWebhookNotifier } from '../../adapters/notifier-webhook.js';
import type { Config } from '../../config.js';
import type { Channels } from '../../ports/notifier.js';

/** The configured channels. config.ts has checked that settings which belong together are all there. */
export function channelsOf({ notify }: Pick<Config, 'notify'>, logger: Logger): Channels {
  const { webhook, slackUrl, smtp, allowPrivate } = notify;
  const { url, secret } = webhook;
  return {
    log: createLogNotifier(logger),
    ...(url && secret && { webhook: createWebhookNotifier({ url, secret, allowPrivate }) }),
    ...(slackUrl && { slack: createSlackNotifier({ url: slackUrl, allowPrivate }) }),
    ...(smtp.url && smtp.from && { smtp: createSmtpNotifier({ url: smtp.url, from: smtp.from, to: smtp.to, logger }) }),
  };
}
