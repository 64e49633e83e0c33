import type pg from 'pg';
import type { Logger } from 'pino';
import { presenceVerdict, type Sightings, type WorkerLook } from '../core/presence-verdict.js';
import { workflowIdOf } from '../core/run.js';
import { openSession, type Session } from '../db/postgres/session.js';
import { type HeldAttempt, listHeldAttempts, lookAtWorkers, markDied, markSeenGone } from '../db/recovery/workers.js';
import type { Engine } from '../ports/engine.js';
import { startLoop } from './loop.js';

export interface WatcherDeps {
  /** The session goes past any connection pooler, because the watcher's knowledge of the locks is true for one session
   *  only. */
  directUrl: string;
  pool: pg.Pool;
  engine: Pick<Engine, 'failAttempt' | 'resetSticky'>;
  logger: Logger;
  /** How long a lock must be gone before its worker counts as dead. */
  goneForMs: number;
}

/** Twice in the shortest time that a lock may be gone. A look costs one read of the lock table. */
const EVERY_MS = 125;

/** The pause after a turn that failed: a server that is away is not back sooner. */
const RETRY_MS = 1_000;

/** Runs released at once. A worker may hold thousands of attempts. */
const AT_ONCE = 50;

export interface Watcher {
  /** When the last look at the locks ended without an error; null before the first. */
  lastTurnAt(): Date | null;
  stop(): Promise<void>;
}

/** Sees workers die, and gives their attempts to other workers. Any number of copies may run. */
export function startWatcher(deps: WatcherDeps): Watcher {
  const locks = createLockWatch(deps);
  let lastLookAt: Date | null = null;

  async function turn(): Promise<number> {
    const dead = await locks.findDead();
    // Set before the burials: with Temporal away they fail, and the watcher can see workers die all the same.
    lastLookAt = new Date();
    const buried = await Promise.all(dead.map((worker) => tryToBury(deps, worker)));
    return buried.every(Boolean) ? EVERY_MS : RETRY_MS;
  }
  const loop = startLoop({ everyMs: RETRY_MS, name: 'watcher', logger: deps.logger, turn });
  return {
    lastTurnAt: () => lastLookAt,
    async stop() {
      await loop.stop();
      locks.close();
    },
  };
}

interface LockWatch {
  findDead(): Promise<WorkerLook[]>;
  close(): void;
}

/** Looks at the workers' locks in one session that is kept from turn to turn. */
function createLockWatch({ directUrl, goneForMs }: WatcherDeps): LockWatch {
  let session: Session | null = null;
  let known: Sightings = new Map();

  async function findDead(): Promise<WorkerLook[]> {
    try {
      session ??= await openSession({ url: directUrl, name: 'watcher' });
      const seen = await lookAtWorkers(session, [...known.keys()]);
      const verdict = presenceVerdict(known, seen, goneForMs);
      known = verdict.known;
      return seen.workers.filter(({ id }) => verdict.dead.includes(id));
    } catch (error) {
      // Sightings are true only while nothing comes between two looks of one session.
      close();
      throw error;
    }
  }
  function close(): void {
    session?.close();
    session = null;
    known = new Map();
  }
  return { findDead, close };
}

/** False: the burial failed, and its log line is written. */
async function tryToBury(deps: WatcherDeps, worker: WorkerLook): Promise<boolean> {
  try {
    await buryWorker(deps, worker);
    return true;
  } catch (error) {
    deps.logger.warn({ err: error, worker: worker.id }, 'work of a dead worker could not be given to others');
    return false;
  }
}

type BurialDeps = Pick<WatcherDeps, 'pool' | 'engine' | 'logger'>;

/** Lets other workers take the dead worker's runs, ends its attempts, and marks it only then. A burial that is
 *  interrupted before the mark is made again, by this watcher or another copy. Burying a worker twice does no harm, and
 *  neither does burying a worker that lives: its attempts run elsewhere, and the fence refuses its commits. */
export async function buryWorker({ pool, engine, logger }: BurialDeps, worker: WorkerLook): Promise<void> {
  const seenGoneAt = await markSeenGone(pool, worker);
  if (!seenGoneAt) return;
  const held = await listHeldAttempts(pool, worker.id);
  const runs = groupByRun(held);
  for (let at = 0; at < runs.length; at += AT_ONCE) {
    await Promise.all(runs.slice(at, at + AT_ONCE).map((attempts) => releaseRun(engine, attempts, worker.id)));
  }
  if (!(await markDied(pool, worker.id, seenGoneAt))) return;
  logger.warn({ worker: worker.id, seenGoneAt, attempts: held.length, runs: runs.length }, 'worker died');
}

/** The sticky queue is reset first: the next attempt may end at once, and the workflow task after it would wait for the
 *  dead worker. An attempt of a short stage has no token, because it ends with its workflow task. */
async function releaseRun(engine: BurialDeps['engine'], attempts: HeldAttempt[], worker: string): Promise<void> {
  const [run] = attempts;
  if (run) await engine.resetSticky(run);
  const tokens = attempts.flatMap(({ token }) => token ?? []);
  await Promise.all(tokens.map((token) => engine.failAttempt(token, `worker died: ${worker}`)));
}

function groupByRun(held: readonly HeldAttempt[]): HeldAttempt[][] {
  const runs = new Map<string, HeldAttempt[]>();
  for (const attempt of held) {
    const id = workflowIdOf(attempt);
    runs.set(id, [...(runs.get(id) ?? []), attempt]);
  }
  return [...runs.values()];
}
