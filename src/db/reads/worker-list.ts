import type { Prisma } from '../postgres/prisma.js';
import { deathTimeOf, isPresent } from '../recovery/gone-worker.js';
import { HELD_LOCKS } from '../recovery/workers.js';

/** present: the worker was seen just now. silent: it was not, and no watcher saw it die; it may be frozen, cut off or
 *  gone. */
export const WORKER_STATES = ['present', 'silent', 'stopped', 'died'] as const;

export interface ListedWorker {
  id: string;
  name: string;
  host: string;
  pid: number;
  build: string;
  pipelines: string[];
  startedAt: Date;
  seenAt: Date;
  stoppedAt: Date | null;
  /** When a watcher saw that it was gone. */
  diedAt: Date | null;
  state: (typeof WORKER_STATES)[number];
  holdsLock: boolean;
  runningTasks: number;
}

/** A worker that was last seen longer ago is not listed, unless it holds its lock. */
const LISTED_HOURS = 24;

/** More workers than anybody runs. */
const LIMIT = 500;

export async function listWorkers(prisma: Prisma): Promise<ListedWorker[]> {
  return prisma.$queryRawUnsafe<ListedWorker[]>(WORKERS);
}

const WORKERS = `
  WITH held AS (${HELD_LOCKS})
  SELECT id, name, host, pid, build, pipelines, started_at AS "startedAt", seen_at AS "seenAt", stopped_at AS "stoppedAt",
    ${deathTimeOf('w')} AS "diedAt",
    CASE WHEN stopped_at IS NOT NULL THEN 'stopped' WHEN ${deathTimeOf('w')} IS NOT NULL THEN 'died'
      WHEN ${isPresent('w')} THEN 'present' ELSE 'silent' END AS state,
    held.key IS NOT NULL AS "holdsLock",
    (SELECT count(*)::int FROM tasks t JOIN items i ON i.id = t.item_id AND i.visit = t.visit AND i.ended_at IS NULL
     WHERE t.worker = w.id AND t.status = 'running') AS "runningTasks"
  FROM workers w LEFT JOIN held ON held.key = w.lock_key
  WHERE seen_at > now() - interval '${LISTED_HOURS} hours' OR held.key IS NOT NULL
  ORDER BY started_at DESC, id LIMIT ${LIMIT}`;
