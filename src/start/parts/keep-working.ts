import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NativeConnection, type Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { type Config, projectRoot } from '../../config.js';
import { connectionOptionsOf } from '../../temporal/connection.js';

/** Between tries at a Temporal that is away. */
const RETRY_MS = 2_000;

export const WORKFLOW_BUNDLE = { codePath: join(projectRoot, 'dist', 'workflow-bundle.js') };

interface Parts {
  config: Config;
  logger: Logger;
  /** As the log calls the worker. */
  name: string;
}

/** Keeps a worker running on a connection of its own, however often Temporal goes away. Resolves after `stop` is aborted, when
 *  the worker has let go. */
export async function keepWorking(
  { config, logger, name }: Parts,
  createWorker: (connection: NativeConnection) => Promise<Worker>,
  stop: AbortSignal,
): Promise<void> {
  await retryUntilStopped(logger, `${name} worker does not run; trying again`, stop, async () => {
    const address = config.temporal.address ?? '';
    const settings = connectionOptionsOf({ ...config.temporal, address });
    const connection = await awaitUnlessStopped(stop, NativeConnection.connect(settings));
    try {
      const worker = await createWorker(connection);
      const shutDown = (): void => {
        if (worker.getState() === 'RUNNING') worker.shutdown();
      };
      stop.addEventListener('abort', shutDown);
      const running = worker.run();
      if (stop.aborted) shutDown();
      logger.info(`${name} worker ready`);
      await running;
    } finally {
      await connection.close();
    }
  });
}

/** Repeats the call until it ends without an error or is no longer wanted. */
export async function retryUntilStopped(
  logger: Logger,
  says: string,
  stop: AbortSignal,
  call: () => Promise<void>,
): Promise<void> {
  while (!stop.aborted) {
    try {
      await call();
      return;
    } catch (error) {
      if (stop.aborted) return;
      logger.warn({ err: error }, says);
      await delay(RETRY_MS, undefined, { signal: stop }).catch(() => undefined);
    }
  }
}

/** Waits for the call unless the process is stopped, because a server that does not answer must not keep the process
 *  from ending. */
export async function awaitUnlessStopped<T>(stop: AbortSignal, call: Promise<T>): Promise<T> {
  stop.throwIfAborted();
  let end: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    end = () => {
      reject(stop.reason as Error);
    };
  });
  stop.addEventListener('abort', end);
  try {
    return await Promise.race([call, stopped]);
  } finally {
    stop.removeEventListener('abort', end);
  }
}
