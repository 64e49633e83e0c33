import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';

/** Before anything else of the SDK: it would install handlers of its own and end the process under us. */
export function takeOverLogsAndSignals(logger: Logger): void {
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      logger[level === 'ERROR' ? 'error' : 'warn']({ meta }, message);
    }),
  });
}
