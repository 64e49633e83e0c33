import { join } from 'node:path';
import type { Config } from '../../config.js';
import type { TemporalSettings } from '../../temporal/connection.js';
import { POSTGRES_USER } from './postgres-cluster.js';
import { secretIn } from '../parts/secrets.js';

/** Where the parts of the installation that the settings describe are to be found. */
export interface Installation {
  /** Undefined: the embedded Postgres, and it was never started here. */
  databaseUrl: string | undefined;
  temporal: TemporalSettings;
  apiUrl: string;
}

export function installationOf(config: Config): Installation {
  const { database, temporal, embedded, api } = config;
  return {
    databaseUrl: database.directUrl ?? embeddedDatabaseUrl(config),
    temporal: { ...temporal, address: temporal.address ?? `127.0.0.1:${embedded.temporalPort}` },
    apiUrl: apiUrlOf(api),
  };
}

/** The address at which this machine reaches the API. An address that means every interface can't be called. */
export function apiUrlOf({ host, port }: Config['api']): string {
  if (host === '0.0.0.0' || host === '::') return `http://127.0.0.1:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The admin's token that `npm start` keeps for scripts. */
export function adminTokenIn(dataDir: string): string | undefined {
  return secretIn(join(dataDir, 'admin-token'));
}

/** Its database has the name of its user. */
function embeddedDatabaseUrl({ dataDir, embedded }: Config): string | undefined {
  const password = secretIn(join(dataDir, 'postgres-password'));
  if (password === undefined) return undefined;
  return `postgresql://${POSTGRES_USER}:${password}@127.0.0.1:${embedded.postgresPort}/${POSTGRES_USER}`;
}
