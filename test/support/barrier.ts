import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { TestDatabase } from './postgres.js';

/** Forces an order upon two transactions: a third holds a lock that both need; each is started when the one before is seen
 *  waiting in the server's own tables; then the third lets go. Waiters are served in the order they came. */
export interface Barrier {
  /** Starts the work on a connection of its own and comes back once that waits for a lock. Work that brings its own
   *  connection says by which name the server knows it. */
  start<T>(work: (pool: pg.Pool) => Promise<T>, name?: string): Promise<Started<T>>;
  release(): Promise<void>;
}

export interface Started<T> {
  result: Promise<T>;
}

/** A test that failed half-way never releases; the server then does, so that the next test is not the one that hangs. */
const LONGEST_HOLD_MS = 15_000;

/** Holds a lock taken by one statement until released. */
export async function holdLock(database: TestDatabase, text: string, values: unknown[] = []): Promise<Barrier> {
  const holder = await database.pool.connect();
  holder.on('error', ignore);
  await holder.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${String(LONGEST_HOLD_MS)}`);
  await holder.query(text, values);
  return {
    start: (work, name) => startWaiting(database, work, name),
    async release() {
      await holder.query('ROLLBACK');
      holder.off('error', ignore);
      holder.release();
    },
  };
}

export function holdItem(database: TestDatabase, itemId: string): Promise<Barrier> {
  return holdLock(database, 'SELECT 1 FROM items WHERE id = $1 FOR UPDATE', [itemId]);
}

interface Waiter {
  name: string;
  pool: pg.Pool;
}

/** Connections are dear: those whose work has ended are kept for the next, by database. */
const idle = new Map<string, Waiter[]>();
let count = 0;

async function startWaiting<T>(
  database: TestDatabase,
  work: (pool: pg.Pool) => Promise<T>,
  name?: string,
): Promise<Started<T>> {
  const waiters = idle.get(database.url) ?? [];
  idle.set(database.url, waiters);
  const waiter = waiters.pop() ?? createWaiter(database.url);
  const result = work(waiter.pool).finally(() => waiters.push(waiter));
  // Looked at by whoever awaits `result`; a rejection before that is no unhandled one.
  result.catch(ignore);
  await waitsForLock(database.pool, name ?? waiter.name);
  return { result };
}

function createWaiter(connectionString: string): Waiter {
  count += 1;
  const name = `waiter ${String(count)}`;
  const pool = new pg.Pool({ connectionString, application_name: name, max: 1 });
  pool.on('error', ignore);
  return { name, pool };
}

export async function endWaiters(database: TestDatabase): Promise<void> {
  const waiters = idle.get(database.url) ?? [];
  idle.delete(database.url);
  await Promise.all(waiters.map(({ pool }) => pool.end()));
}

/** Comes back when the session of that name waits for a lock; the test's own limit ends it otherwise. */
async function waitsForLock(pool: pg.Pool, name: string): Promise<void> {
  while (!(await isWaiting(pool, name))) await delay(POLL_MS);
}

/** There is no event to wait for; a look costs the server next to nothing. */
const POLL_MS = 3;

async function isWaiting(pool: pg.Pool, name: string): Promise<boolean> {
  const { rows } = await pool.query(
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = $1 AND wait_event_type = 'Lock'`,
    [name],
  );
  return rows.length > 0;
}

function ignore(): void {}

/** A promise that somebody else resolves. */
export function gate(): { opened: Promise<void>; open(): void } {
  let open: () => void = ignore;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    opened,
    open() {
      open();
    },
  };
}
