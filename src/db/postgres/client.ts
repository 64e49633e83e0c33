import { createHash } from 'node:crypto';
import pg from 'pg';
import type { Sql } from '../../ports/sql.js';

/** Below the shortest heartbeat timeout (2 s): a worker that is frozen inside a transaction must lose its locks before
 *  its task is given to another worker, or the other worker would wait for the locks. */
const LOCK_LIMIT_MS = 1_500;

/** No statement of the spine takes long. A statement that does is waiting in vain. */
const STATEMENT_LIMIT_MS = 15_000;

/** The server ends every statement earlier. An answer that has not come by then is lost, and the connection with it. */
const ANSWER_LIMIT_MS = STATEMENT_LIMIT_MS + 5_000;

/** If a connection takes longer, the database counts as away. */
const CONNECT_LIMIT_MS = 5_000;

/** Far shorter than the minutes after which firewalls and load balancers forget an idle connection. */
const KEEP_ALIVE_MS = 10_000;

export interface PoolOptions {
  url: string;
  size: number;
  name: string;
}

export function createPool({ url, size, name }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    application_name: name,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    // Idle sessions are kept, because a new session costs server and process as much as six items until its statements
    // are planned.
    idleTimeoutMillis: 0,
    idle_in_transaction_session_timeout: LOCK_LIMIT_MS,
    lock_timeout: LOCK_LIMIT_MS,
    statement_timeout: STATEMENT_LIMIT_MS,
    query_timeout: ANSWER_LIMIT_MS,
    // Finds a session that a firewall has forgotten before a query waits on it for ANSWER_LIMIT_MS.
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
  // An idle connection that breaks must not end the process: the next query opens a new one.
  pool.on('error', ignore);
  return pool;
}

export async function inTransaction<T>(pool: pg.Pool, work: (transaction: Sql) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // The pool listens to idle clients only, and an error event without a listener ends the process.
  client.on('error', ignore);
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    const result = await unlessEnded(client, work(client));
    const { command } = await client.query('COMMIT');
    // The server answers so when a statement failed before and its error was swallowed.
    if (command === 'ROLLBACK') throw new Error('nothing was committed: a statement of the transaction had failed');
    return result;
  } catch (error) {
    broken = await rollBack(client);
    throw error;
  } finally {
    client.release(broken);
    client.off('error', ignore);
  }
}

/** Rejects when the server ends the session between two statements because it idled for too long. Only an event reports
 *  that. Without this, work that hangs would keep its connection for ever. */
async function unlessEnded<T>(client: pg.PoolClient, work: Promise<T>): Promise<T> {
  let end: (error: Error) => void = ignore;
  const ended = new Promise<never>((_, reject) => {
    end = reject;
  });
  client.on('error', end);
  try {
    return await Promise.race([work, ended]);
  } finally {
    client.off('error', end);
  }
}

function ignore(): void {}

async function rollBack(client: pg.PoolClient): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    // The connection is gone, and the transaction with it, so the pool must not hand the connection out again.
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** A column for a statement's answer, with which the server answers before the statement is on disk, or on a standby.
 *  Every later commit waits for it too, so only a crash or a failover in the moment between can lose it. Use it only in
 *  a statement that is a transaction of its own: in a longer transaction, no statement would be waited for. */
export const WITHOUT_WAITING = `set_config('synchronous_commit', 'off', true)`;

const names = new Map<string, string>();

/** Every connection keeps each prepared statement for good. A save whose text differs each time (a list of VALUES) must
 *  not fill the server's memory, so statements after this many are parsed each time. */
const MAX_PREPARED = 500;

interface Prepared {
  name: string | undefined;
  text: string;
  values: readonly unknown[];
}

/** Runs a statement of the hot path as a prepared statement, which is parsed and planned once for each connection. */
export async function queryPrepared<Row extends object>(
  sql: Sql,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  const queryable = sql as unknown as { query(config: Prepared): Promise<{ rows: Row[] }> };
  const { rows } = await queryable.query({ name: nameOf(text), text, values });
  return rows;
}

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known || names.size >= MAX_PREPARED) return known;
  const name = createHash('sha256').update(text).digest('hex').slice(0, 32);
  names.set(text, name);
  return name;
}
