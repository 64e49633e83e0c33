import type { Config } from '../../config.js';
import { assertPortsFree, type WantedPort } from './assert-ports-free.js';
import { assertDatabaseReachable, assertTemporalReachable } from './assert-reachable.js';
import { stopPostgresLeftBehind } from './embedded-postgres.js';
import { stopTemporalLeftBehind } from './embedded-temporal.js';
import type { Log } from './running.js';

/** Ends the servers of an earlier start that was killed, so that only the ports of others are busy. */
export async function stopServersLeftBehind(config: Config, temporalFile: string, say: Log): Promise<void> {
  await Promise.all([
    config.database.url === undefined && stopPostgresLeftBehind(config.dataDir, say),
    config.temporal.address === undefined && stopTemporalLeftBehind(temporalFile, say),
  ]);
}

/** Everything that can be known to fail is said before anything starts. */
export async function assertCanStart(config: Config): Promise<void> {
  await assertPortsFree(wantedPorts(config));
  const { url, directUrl } = config.database;
  if (url !== undefined) await assertDatabaseReachable('DATABASE_URL', url);
  if (directUrl !== undefined && directUrl !== url) await assertDatabaseReachable('DATABASE_DIRECT_URL', directUrl);
  const { address } = config.temporal;
  if (address !== undefined) await assertTemporalReachable({ ...config.temporal, address });
}

function wantedPorts({ api, database, temporal, embedded }: Config): WantedPort[] {
  const local = (variable: string, port: number): WantedPort => ({ variable, host: '127.0.0.1', port });
  return [
    { variable: 'PORT', host: api.host, port: api.port },
    ...(api.metricsPort === undefined ? [] : [{ variable: 'METRICS_PORT', host: api.host, port: api.metricsPort }]),
    ...(database.url === undefined ? [local('POSTGRES_PORT', embedded.postgresPort)] : []),
    ...(temporal.address === undefined
      ? [local('TEMPORAL_PORT', embedded.temporalPort), local('TEMPORAL_UI_PORT', embedded.temporalUiPort)]
      : []),
  ];
}
