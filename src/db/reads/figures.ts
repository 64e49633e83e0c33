import { listOpenBreakers } from './breaker-list.js';
import { Prisma } from '../generated/client.js';
import type { Prisma as Client } from '../postgres/prisma.js';
import { isPresent } from '../recovery/gone-worker.js';
import { WORKER_DEATHS } from '../recovery/retention.js';

/** Figures of all items, read when they are asked for. */
export interface Figures {
  /** Live items only: partial indexes make these cheap however many have ended. */
  items: { pipeline: string; state: string; count: number; oldestAgeSeconds: number }[];
  refusals: { pipeline: string; stage: string; count: number }[];
  workers: WorkersSeen;
  undelivered: { channel: string; count: number }[];
  openBreakers: { pipeline: string; class: string }[];
}

export async function readFigures(prisma: Client): Promise<Figures> {
  const [items, refusals, workers, undelivered, openBreakers] = await Promise.all([
    prisma.$queryRaw<Figures['items']>`
      SELECT pipeline, state, count(*)::int AS count,
        extract(epoch FROM now() - min(created_at))::float8 AS "oldestAgeSeconds"
      FROM items WHERE ended_at IS NULL GROUP BY pipeline, state`,
    prisma.$queryRaw<Figures['refusals']>`
      SELECT pipeline, stage, count(*)::int AS count FROM refusals GROUP BY pipeline, stage`,
    readWorkersSeen(prisma),
    readUndelivered(prisma),
    listOpenBreakers(prisma),
  ]);
  return { items, refusals, workers, undelivered, openBreakers };
}

/** Counts the deliveries that are still to be made. A delivery that was given up is not among them. */
async function readUndelivered(prisma: Client): Promise<Figures['undelivered']> {
  return prisma.$queryRaw<Figures['undelivered']>`
    SELECT channel, count(*)::int AS count FROM deliveries
    WHERE delivered_at IS NULL AND failed_at IS NULL GROUP BY channel
    UNION ALL SELECT 'unrouted', count(*)::int FROM outbox WHERE routed_at IS NULL`;
}

/** How many worker processes ever registered, how many of them were seen just now, and how many died. */
export interface WorkersSeen {
  registered: number;
  present: number;
  deaths: number;
}

export async function readWorkersSeen(prisma: Client): Promise<WorkersSeen> {
  const [seen] = await prisma.$queryRaw<WorkersSeen[]>`
    SELECT count(*)::int AS registered, (COALESCE(sum(deaths), 0)
      + COALESCE((SELECT value FROM totals WHERE name = ${WORKER_DEATHS}), 0))::int AS deaths, (count(*) FILTER (
      WHERE ${Prisma.raw(isPresent('workers'))}))::int AS present FROM workers`;
  return seen ?? { registered: 0, present: 0, deaths: 0 };
}
