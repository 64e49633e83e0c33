import pg from 'pg';
import type { Sql } from '../../ports/sql.js';

/** One connection that is kept. It never reconnects: what is known by it, or held by it, goes with it. */
export interface Session extends Sql {
  /** Aborted when the connection is gone, with why. */
  lost: AbortSignal;
  /** Ends it at once, and with it every lock it holds. */
  close(): void;
}

/** A server that takes longer to answer the small things that are asked here is away. */
const ANSWER_LIMIT_MS = 5_000;

/** The server gives up on a client whose machine is gone after 10 + 3 · 5 s; Linux' own two hours would keep its locks as long.
 *  The kernel of a frozen process answers for it. */
const KEEPALIVES = 'SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3';

export async function openSession({ url, name }: { url: string; name: string }): Promise<Session> {
  const client = new pg.Client({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: ANSWER_LIMIT_MS,
    statement_timeout: ANSWER_LIMIT_MS,
    query_timeout: ANSWER_LIMIT_MS,
    keepAlive: true,
  });
  const losing = new AbortController();
  // Listened to for good: an error event that nobody hears ends the process.
  client.on('error', (error) => {
    losing.abort(error);
  });
  client.on('end', () => {
    losing.abort(new Error('the connection to the database ended'));
  });
  function close(): void {
    // Not waited for: on a link that is half open the farewell never comes.
    client.end().catch(() => undefined);
  }
  try {
    await client.connect();
    await client.query(KEEPALIVES);
  } catch (error) {
    close();
    throw error;
  }
  return { query: client.query.bind(client), lost: losing.signal, close };
}
