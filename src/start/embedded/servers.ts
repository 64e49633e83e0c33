import { findTemporalCli } from '../../../scripts/find-temporal-cli.mjs';
import { childEnvironment, type Config } from '../../config.js';
import type { DataDir } from './data-dir.js';
import { startPostgres } from './embedded-postgres.js';
import { startTemporal } from './embedded-temporal.js';
import { openLog } from './log-file.js';
import type { Log } from './running.js';
import { StartError } from './start-error.js';
import type { Part, Supervisor } from './supervisor.js';

export interface Servers {
  databaseUrl: string;
  directUrl: string;
  temporalAddress: string;
}

export interface ServersRequest {
  config: Config;
  dataDir: DataDir;
  temporalFile: string;
  supervisor: Supervisor;
  say: Log;
}

/** The servers that the settings name, and embedded servers in the place of the others. */
export async function startServers({
  config,
  dataDir,
  temporalFile,
  supervisor,
  say,
}: ServersRequest): Promise<Servers> {
  const { database, temporal, embedded } = config;
  let { url, directUrl } = database;
  const parts: Part[] = [];
  if (url === undefined) {
    say(`starting Postgres on 127.0.0.1:${embedded.postgresPort}`);
    const options = { dataDir: dataDir.path, port: embedded.postgresPort, log: openLog(dataDir.logs, 'postgres') };
    parts.push({
      name: 'postgres',
      async start(signal) {
        const server = await startPostgres({ ...options, signal });
        url = server.url;
        directUrl = server.url;
        return server;
      },
    });
  }
  if (temporal.address === undefined) {
    say(`starting Temporal on 127.0.0.1:${embedded.temporalPort}`);
    const ports = { port: embedded.temporalPort, uiPort: embedded.temporalUiPort };
    const log = openLog(dataDir.logs, 'temporal');
    const options = { cliPath: cliPath(), dbFile: temporalFile, namespace: temporal.namespace, log, ...ports };
    parts.push({ name: 'temporal', start: (signal) => startTemporal({ ...options, signal }) });
  }
  await supervisor.start(parts);
  if (url === undefined || directUrl === undefined) throw new Error('Postgres is up and its address is not known');
  return {
    databaseUrl: url,
    directUrl,
    temporalAddress: temporal.address ?? `127.0.0.1:${embedded.temporalPort}`,
  };
}

function cliPath(): string {
  try {
    return findTemporalCli(childEnvironment({}));
  } catch (cause) {
    throw new StartError(`cannot start: ${(cause as Error).message}`, { cause });
  }
}
