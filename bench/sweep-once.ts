import type pg from 'pg';
import { pino } from 'pino';
import { createSweep } from '../src/activities/maintenance/sweep.js';
import type { Pipeline } from '../src/core/pipeline.js';
import { canary } from '../src/domains/canary/table.js';
import type { Engine } from '../src/ports/engine.js';
import { STUCK } from './sweep-data.js';

/** The canary with a file's thresholds: what is healthy when the benchmark begins is so when it ends. */
export const sweptCanary: Pipeline = {
  ...canary,
  sweep: { every: '15m', staleAfter: '10m', stuckAfter: '30m' },
};

/** Temporal's part, answered from memory: the runs of the stuck are gone, all others are open, and a worker polls. What a sweep
 *  takes is then the database's time and ours; Temporal's, the same for every size, would only hide a difference. */
export function engineInMemory(stuck: readonly string[], live: readonly string[]): Engine {
  const gone = new Set(stuck);
  const open = live.filter((id) => !gone.has(id));
  return {
    describe: ({ itemId }) =>
      Promise.resolve(gone.has(itemId) ? { is: 'gone', how: 'terminated' } : { is: 'alive', wedgedBy: null }),
    findRuns: () => unasked('findRuns'),
    queue: () =>
      Promise.resolve({ pollers: [{ identity: 'worker-1', seenAt: new Date() }], backlog: 0, oldestMs: null }),
    async *openRuns(pipeline) {
      for (const itemId of open) yield await Promise.resolve({ pipeline, itemId, epoch: 1, startedAt: new Date() });
    },
    start: () => unasked('start'),
    wake: () => unasked('wake'),
    end: () => unasked('end'),
    terminate: () => unasked('terminate'),
    failAttempt: () => unasked('failAttempt'),
    resetSticky: () => unasked('resetSticky'),
    heedsPriorities: () => unasked('heedsPriorities'),
    ping: () => Promise.resolve(),
  };
}

function unasked(call: string): Promise<never> {
  return Promise.reject(new Error(`this sweep has no reason to call ${call}`));
}

/** One whole sweep, page by page as its workflow does it. Throws unless it rescued exactly the stuck: a sweep that did less
 *  would be cheap. */
export function createSweeper(pool: pg.Pool, engine: Engine): () => Promise<void> {
  const { sweepPage } = createSweep({
    pool,
    engine,
    pipelines: { canary: sweptCanary },
    logger: pino({ level: 'silent' }),
    // So fast that the sweep does not wait for its pace.
    rescuesPerSecond: 100_000,
  });
  return async () => {
    const { rows } = await pool.query<{ now: Date }>('SELECT now()');
    const startedAt = rows[0]?.now.toISOString() ?? '';
    let rescued = 0;
    for (let isLast = false; !isLast;) {
      const page = await sweepPage({ pipeline: 'canary', startedAt, rescuesLeft: STUCK - rescued });
      if (page.errors.length > 0) throw new Error(`the sweep failed: ${page.errors.join('; ')}`);
      rescued += page.reEnqueued;
      isLast = page.isLast;
    }
    if (rescued !== STUCK) throw new Error(`${String(rescued)} rescued instead of ${String(STUCK)}`);
  };
}
