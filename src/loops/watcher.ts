import type pg from 'pg';
import type { Logger } from 'pino';
import { presenceVerdict, type Sightings, type WorkerLook } from '../core/presence-verdict.js';
import { workflowIdOf } from '../core/run.js';
import { openSession, type Session } from '../db/postgres/session.js';
import { type HeldAttempt, listHeldAttempts, lookAtWorkers, markDied, markSeenGone } from '../db/recovery/workers.js';
import type { Engine } from '../ports/engine.js';

export interface WatcherDeps {
  /** Direct: what is known is known by one session only. */
  directUrl: string;
  pool: pg.Pool;
  engine: Pick<Engine, 'failAttempt' | 'resetSticky'>;
  logger: Logger;
  /** How long a lock must be gone before its worker counts as dead. */
  goneForMs: number;
}

/** Twice in the shortest time a lock may be gone; one read of the lock table each. */
const EVERY_MS = 125;

/** After a turn that failed: a server that is away is not back sooner. */
const RETRY_MS = 1_000;

/** Runs at once. A worker may hold thousands of attempts. */
const AT_ONCE = 50;

export interface Watcher {
  /** When the last look at the locks ended without an error; null before the first. */
  lastTurnAt(): Date | null;
  stop(): Promise<void>;
}

/** Sees workers die, and gives what they were running to others. Any number of copies may run. */
export function startWatcher(deps: WatcherDeps): Watcher {
  let stopped = false;
  let lastTurnAt: Date | null = null;
  let nudge: () => void = () => undefined;
  let session: Session | null = null;
  let known: Sightings = new Map();

  async function loop(): Promise<void> {
    while (!stopped) await pause((await turn()) ? EVERY_MS : RETRY_MS);
    session?.close();
  }
  async function turn(): Promise<boolean> {
    const dead = await look().catch((error: unknown) => {
      deps.logger.warn({ err: error }, 'watcher could not look for dead workers');
      return null;
    });
    if (!dead) return false;
    lastTurnAt = new Date();
    const buried = await Promise.all(dead.map((worker) => succeeds(deps, worker)));
    return buried.every(Boolean);
  }
  async function look(): Promise<WorkerLook[]> {
    try {
      session ??= await openSession({ url: deps.directUrl, name: 'watcher' });
      const seen = await lookAtWorkers(session, [...known.keys()]);
      const verdict = presenceVerdict(known, seen, deps.goneForMs);
      known = verdict.known;
      return seen.workers.filter(({ id }) => verdict.dead.includes(id));
    } catch (error) {
      // What it knew was true only as long as nothing came between two looks.
      session?.close();
      session = null;
      known = new Map();
      throw error;
    }
  }
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, stopped ? 0 : ms);
      nudge = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
  const running = loop();

  return {
    lastTurnAt: () => lastTurnAt,
    async stop() {
      stopped = true;
      nudge();
      await running;
    },
  };
}

async function succeeds(deps: WatcherDeps, worker: WorkerLook): Promise<boolean> {
  try {
    await buryWorker(deps, worker);
    return true;
  } catch (error) {
    deps.logger.warn({ err: error, worker: worker.id }, 'work of a dead worker could not be given to others');
    return false;
  }
}

type BurialDeps = Pick<WatcherDeps, 'pool' | 'engine' | 'logger'>;

/** Lets others take the worker's runs, ends its attempts, and only then marks it: whoever is interrupted before is repeated, by
 *  itself or by another copy. Doing it twice does no harm, and neither does doing it to a worker that lives: its attempts are
 *  run elsewhere, and the fence refuses its commits. */
export async function buryWorker({ pool, engine, logger }: BurialDeps, worker: WorkerLook): Promise<void> {
  const seenGoneAt = await markSeenGone(pool, worker);
  if (!seenGoneAt) return;
  const held = await listHeldAttempts(pool, worker.id);
  const runs = byRun(held);
  for (let at = 0; at < runs.length; at += AT_ONCE) {
    await Promise.all(runs.slice(at, at + AT_ONCE).map((attempts) => releaseRun(engine, attempts, worker.id)));
  }
  if (!(await markDied(pool, worker.id, seenGoneAt))) return;
  logger.warn({ worker: worker.id, seenGoneAt, attempts: held.length, runs: runs.length }, 'worker died');
}

/** The sticky queue first: the next attempt may be over in a moment, and what follows it would wait for the dead. An attempt of a
 *  short stage has no token; it ends with its workflow task. */
async function releaseRun(engine: BurialDeps['engine'], attempts: HeldAttempt[], worker: string): Promise<void> {
  const [run] = attempts;
  if (run) await engine.resetSticky(run);
  const tokens = attempts.flatMap(({ token }) => token ?? []);
  await Promise.all(tokens.map((token) => engine.failAttempt(token, `worker died: ${worker}`)));
}

function byRun(held: readonly HeldAttempt[]): HeldAttempt[][] {
  const runs = new Map<string, HeldAttempt[]>();
  for (const attempt of held) {
    const id = workflowIdOf(attempt);
    runs.set(id, [...(runs.get(id) ?? []), attempt]);
  }
  return [...runs.values()];
}
