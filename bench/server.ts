import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../src/start/embedded/embedded-postgres.js';
import { freePort } from '../test/support/free-port.js';

/** Each ends a server, a session or a pool that a benchmark has started. */
export type Stops = (() => Promise<void> | void)[];

/** A Postgres of the benchmark's own, in a folder that is removed at the end. */
export interface BenchServer {
  url: string;
  folder: string;
  session: pg.Client;
  stops: Stops;
}

/** Starts a Postgres that can count the pages its statements read. Returns its address. */
export async function startBenchPostgres(dataDir: string, stops: Stops): Promise<string> {
  // The last two settings only shorten the loading.
  const settings = {
    shared_preload_libraries: 'pg_stat_statements',
    max_wal_size: '4GB',
    maintenance_work_mem: '256MB',
  };
  const postgres = await startPostgres({ dataDir, port: await freePort(), log: () => undefined, settings });
  stops.push(postgres.stop);
  return postgres.url;
}

/** Starts a Postgres that counts the pages its statements read, lets `measure` use it, and ends all that was started. */
export async function withServer(measure: (server: BenchServer) => Promise<boolean>): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-'));
  const stops: Stops = [
    () => {
      rmSync(folder, { recursive: true, force: true });
    },
  ];
  try {
    const url = await startBenchPostgres(folder, stops);
    const session = new pg.Client({ connectionString: url });
    await session.connect();
    stops.push(() => session.end());
    await session.query('CREATE EXTENSION pg_stat_statements');
    return await measure({ url, folder, session, stops });
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}
