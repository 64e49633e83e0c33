import { Connection, isGrpcServiceError } from '@temporalio/client';
import pg from 'pg';
import { connectionOptionsOf, type TemporalSettings } from '../../temporal/connection.js';
import { StartError } from './start-error.js';

/** A server that is up answers in milliseconds; a firewall that swallows packets never does. */
const ANSWER_WITHIN_MS = 5_000;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

/** Reports a DATABASE_URL that can't work at once, with the remedy. */
export async function assertDatabaseReachable(variable: string, url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: ANSWER_WITHIN_MS });
  client.on('error', () => undefined); // the connection was cut right after: the next user of it says so
  try {
    await client.connect();
    await client.end();
  } catch (cause) {
    throw new StartError(`cannot start: ${databaseProblem(variable, new URL(url), cause as pg.DatabaseError)}`, {
      cause,
    });
  }
}

function databaseProblem(
  variable: string,
  { hostname, port, username, pathname }: URL,
  error: pg.DatabaseError,
): string {
  const server = `${hostname || 'localhost'}:${port || '5432'}`;
  if (error.code === '28P01' || error.code === '28000')
    return `the Postgres at ${server} refused user '${username}'. Correct user and password in ${variable}.`;
  if (error.code === '3D000')
    return `the Postgres at ${server} has no database '${pathname.slice(1)}'. Create it, or correct ${variable}.`;
  if (error instanceof pg.DatabaseError) return `the Postgres at ${server} (${variable}) answered: ${error.message}.`;
  return (
    `${variable} points to ${server}, where nothing answers. ` +
    'Start Postgres there, or unset it to use the embedded one.'
  );
}

export async function assertTemporalReachable(settings: TemporalSettings): Promise<void> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ ...connectionOptionsOf(settings), connectTimeout: ANSWER_WITHIN_MS });
    const { workflowService } = connection;
    await connection.withDeadline(Date.now() + ANSWER_WITHIN_MS, () =>
      workflowService.describeNamespace({ namespace: settings.namespace }),
    );
  } catch (cause) {
    throw new StartError(`cannot start: ${temporalProblem(settings, cause)}`, { cause });
  } finally {
    await connection?.close();
  }
}

function temporalProblem({ address, namespace }: TemporalSettings, error: unknown): string {
  const code = isGrpcServiceError(error) ? Number(error.code) : undefined;
  if (code === NOT_FOUND)
    return `the Temporal at ${address} has no namespace '${namespace}'. Create it, or correct TEMPORAL_NAMESPACE.`;
  if (code === UNAUTHENTICATED || code === PERMISSION_DENIED)
    return `the Temporal at ${address} refused us. Correct TEMPORAL_API_KEY, TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_NAMESPACE.`;
  return (
    `TEMPORAL_ADDRESS points to ${address}, where nothing answers us (TEMPORAL_TLS and TEMPORAL_TLS_… say how it expects TLS). ` +
    'Start Temporal there, or unset it to use the embedded one.'
  );
}
