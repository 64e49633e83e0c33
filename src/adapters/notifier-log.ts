import type { Logger } from 'pino';
import type { Notifier } from '../ports/notifier.js';

/** For operators who collect logs, and so that an event is seen somewhere when nothing else is configured. */
export function createLogNotifier(logger: Logger): Notifier {
  return {
    reaches: () => true,
    async deliver({ id, kind, sentence, pipeline, itemId, owner }) {
      logger.info({ event: id, kind, sentence, pipeline, item: itemId, owner }, 'notification');
    },
  };
}
