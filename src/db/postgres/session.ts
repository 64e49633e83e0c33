import pg from 'pg';
import type { Sql } from '../../ports/sql.js';

/** One connection that is kept open. It never reconnects, because the locks that it holds, and the facts that its owner
 *  learned over it, end with the connection. */
export interface Session extends Sql {
  /** Aborted when the connection is gone; its reason says why. */
  lost: AbortSignal;
  /** Ends the session at once, and with it every lock that it holds. */
  close(): void;
}

/** A session sends only small queries. A server that takes longer to answer them counts as away. */
const ANSWER_LIMIT_MS = 5_000;

/** The server gives up on a client whose machine is gone after 10 + 3 · 5 s. With Linux' default, its locks would stay
 *  for two hours. A frozen process keeps its session, because its kernel answers for it. */
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
  // The listener stays for good, because an error event without a listener ends the process.
  client.on('error', (error) => {
    losing.abort(error);
  });
  client.on('end', () => {
    losing.abort(new Error('the connection to the database ended'));
  });
  function close(): void {
    // The end is not awaited, because on a half-open link the server's answer never comes.
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
