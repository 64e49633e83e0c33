import type { StopWhy, WorkerLink } from '../activities/isolation.js';
import { createPatientReads } from '../activities/patient-reads.js';
import { serveIsolated } from '../activities/serve-isolated.js';
import { endIfTooLarge, watchProcess } from '../adapters/watch-process.js';
import { createPool } from '../db/postgres/client.js';
import { createLogger } from '../telemetry/logger.js';
import { createOpenBlobStore } from './parts/blob-store.js';
import { createStages, loadConfig } from './parts/from-domains.js';
import type { Order } from './parts/isolation.js';
import { pipelinesOf } from './parts/pipelines.js';

/** One for the stage's reads and one for beats and the commit. */
const CONNECTIONS = 2;

/** The process that runs one stage of one item and nothing else, because the task was running when workers died. Started by a worker,
 *  and ended by it. Ctrl-C reaches the whole group of processes: the worker decides what its stages do then. */
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
const maxBytes = Number(process.argv[2]);
watchProcess(maxBytes);
process.once('disconnect', () => process.exit());

type Work = Extract<Order, { work: unknown }>;

/** Listens from the start, so that an order to stop is not lost while the stages load. */
function listenToWorker(): WorkerLink & { work: Promise<Work> } {
  let stopped: StopWhy | undefined;
  let stop: (why: StopWhy) => void = () => undefined;
  const work = new Promise<Work>((resolve) => {
    process.on('message', (message) => {
      const order = message as Order;
      if ('work' in order) return resolve(order);
      stopped = order.stop;
      stop(order.stop);
    });
  });
  return {
    work,
    report(report) {
      // The worker waits for the end of this process. Queries that an aborted stage has left must not hold it up.
      const isLast = report.said === 'settled' || report.said === 'failed';
      const onSent = () => (isLast ? process.exit(0) : undefined);
      process.send?.(report, undefined, undefined, onSent);
    },
    onStop(listener) {
      stop = listener;
      if (stopped !== undefined) listener(stopped);
    },
  };
}

const link = listenToWorker();
process.send?.({ said: 'ready' });
const { work, databaseUrl } = await link.work;
const config = loadConfig();
const name = `${config.worker.name ?? 'worker'}-isolated`;
const logger = createLogger({ level: config.logLevel, name });
const pool = createPool({ url: databaseUrl, size: CONNECTIONS, name });
const pipeline = pipelinesOf(config)[work.pipeline];
if (!pipeline) throw new RangeError(`this version has no pipeline ${work.pipeline}`);
const parts = { reads: createPatientReads(pool), blobs: createOpenBlobStore(config) };
const stages = await createStages(config, parts, [work.pipeline]);
endIfTooLarge(maxBytes);
await serveIsolated({ pool, pipeline, logger, stages: stages[work.pipeline] ?? {} }, work, link);
