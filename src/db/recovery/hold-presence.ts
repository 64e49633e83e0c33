import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { openSession, type Session } from '../postgres/session.js';
import { lockWorker, registerWorker, retireWorker, type WorkerProcess } from './workers.js';

export interface PresenceOptions {
  /** Past any connection pooler, which would hand the session, and the lock with it, to another client. */
  url: string;
  pool: pg.Pool;
  worker: WorkerProcess;
  onLost?(why: Error): void;
  onHeld?(): void;
}

export interface Presence {
  /** Signs the worker off. The registry is told before the lock goes, so that no watcher takes the worker for dead. */
  retire(): Promise<void>;
}

/** A half-open link does not report itself. A query this often finds it, within the answer limit of the session. */
const CHECK_EVERY_MS = 2_000;

/** The first try comes at once, or a watcher would take the worker for dead. Further tries come more slowly, so that
 *  many workers do not storm a server that is starting. */
const RETRY_MS = { first: 50, most: 2_000 };

/** Registers the worker and holds its lock for as long as this process lives. A broken connection is replaced without
 *  end, and the worker goes on meanwhile. Rejects only when the first connection can't be made. */
export async function holdPresence(options: PresenceOptions): Promise<Presence> {
  const retiring = new AbortController();
  let session: Session | null = await takeLock(options);

  async function keep(): Promise<void> {
    while (session && !retiring.signal.aborted) {
      const why = await untilLost(session, retiring.signal);
      if (!why) return;
      session.close();
      options.onLost?.(why);
      session = await takeLockAgain(options, retiring.signal);
      if (session) options.onHeld?.();
    }
  }
  const keeping = keep();

  return {
    async retire() {
      retiring.abort();
      await keeping;
      try {
        await retireWorker(options.pool, options.worker.id);
      } finally {
        session?.close();
      }
    },
  };
}

/** Takes the lock before it writes the row, so that a registered worker's lock can be seen from the first moment. */
async function takeLock({ url, worker }: PresenceOptions): Promise<Session> {
  const session = await openSession({ url, name: `${worker.name} presence` });
  try {
    await lockWorker(session, worker.id);
    await registerWorker(session, worker);
    return session;
  } catch (error) {
    session.close();
    throw error;
  }
}

/** Null: the worker retires before the database is back. */
async function takeLockAgain(options: PresenceOptions, retiring: AbortSignal): Promise<Session | null> {
  for (let waitMs = RETRY_MS.first; !retiring.aborted; waitMs = Math.min(2 * waitMs, RETRY_MS.most)) {
    const session = await takeLock(options).catch(() => null);
    if (session) return session;
    await delay(waitMs, undefined, { signal: retiring }).catch(() => undefined);
  }
  return null;
}

/** Waits until the connection is gone and returns why; null: the worker retires. */
async function untilLost(session: Session, retiring: AbortSignal): Promise<Error | null> {
  const over = AbortSignal.any([retiring, session.lost]);
  while (!over.aborted) {
    await delay(CHECK_EVERY_MS, undefined, { signal: over }).catch(() => undefined);
    const failure = over.aborted ? null : await failureOf(session.query('SELECT 1'));
    if (failure) return failure;
  }
  return retiring.aborted ? null : (session.lost.reason as Error);
}

async function failureOf(query: Promise<unknown>): Promise<Error | null> {
  return query.then(
    () => null,
    (error: Error) => error,
  );
}
