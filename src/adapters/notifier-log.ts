import type { Logger } from 'pino';
import type { Notifier } from '../ports/notifier.js';

/** For operators who collect logs. It also shows an event when no other channel is configured. */
export function createLogNotifier(logger: Logger): Notifier {
  return {
    reaches: () => true,
    async deliver({ id, kind, sentence, pipeline, itemId, owner }) {
      logger.info({ event: id, kind, sentence, pipeline, item: itemId, owner }, 'notification');
    },
  };
}
