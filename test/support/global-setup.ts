import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { findTemporalCli } from '../../scripts/find-temporal-cli.mjs';
import { migrate } from '../../src/db/postgres/migrate.js';
import { startPostgres } from '../../src/start/embedded/embedded-postgres.js';
import { startTemporal } from '../../src/start/embedded/embedded-temporal.js';
import { freePort } from './free-port.js';
import type { Running } from '../../src/start/embedded/running.js';
import { onServer, templateDatabase, urlOfDatabase } from './postgres.js';

declare module 'vitest' {
  interface ProvidedContext {
    databaseUrl: string;
    temporalAddress: string;
  }
}

const migrations = resolve(import.meta.dirname, '../../prisma/migrations');

/** The data is thrown away with the run: nothing of it has to survive a power cut. */
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** One real Postgres and one real Temporal for the whole run; never the ones that DATABASE_URL or TEMPORAL_ADDRESS name. */
export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-test-'));
  const servers: Running[] = [];
  // Ctrl-C makes vitest exit without calling what we return.
  const killServers = (): void => {
    for (const server of servers) server.kill();
    remove(folder);
  };
  async function stopServers(): Promise<void> {
    await Promise.all(servers.map((server) => server.stop()));
    process.off('exit', killServers);
    remove(folder);
  }
  process.once('exit', killServers);

  const starting = [startDatabase(folder, servers), startEngine(servers)] as const;
  try {
    const [databaseUrl, temporalAddress] = await Promise.all(starting);
    project.provide('databaseUrl', databaseUrl);
    project.provide('temporalAddress', temporalAddress);
  } catch (error) {
    // The other one may still be on its way up; it must not outlive us.
    await Promise.allSettled(starting);
    await stopServers();
    throw error;
  }
  return stopServers;
}

async function startDatabase(folder: string, servers: Running[]): Promise<string> {
  const dataDir = join(folder, 'data');
  const server = await startPostgres({ dataDir, port: await freePort(), log: ignore, settings });
  servers.push(server);
  await onServer(server.url, `create database ${templateDatabase}`);
  await migrate(urlOfDatabase(server.url, templateDatabase), migrations);
  // A template is copied only while nobody is connected to it.
  await onServer(server.url, `alter database ${templateDatabase} with is_template true allow_connections false`);
  return server.url;
}

async function startEngine(servers: Running[]): Promise<string> {
  const server = await startTemporal({ cliPath: findTemporalCli(), port: await freePort(), log: ignore });
  servers.push(server);
  return server.address;
}

/** What a server says matters only when it does not start, and then it is in the error. */
function ignore(): void {}

/** Tries again for a second: a server that is being killed may still write. */
function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
