import { chmodSync, copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../src/start/embedded/embedded-postgres.js';
import { freePort } from './free-port.js';
import { openLog } from '../../src/start/embedded/log-file.js';
import { until } from './until.js';

/** A second server that follows the first, write by write, and can take its place under another address. */
export interface Standby {
  url: string;
  port: number;
  /** Comes back when it takes writes. The first one must be gone. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

const SLOT = 'standby';

/** Of the first server alone, or made anew by the second. */
const LEFT_OUT = new Set(['postmaster.pid', 'postmaster.opts']);
/** Folders that must be there, but empty: the second server is sent what it needs. */
const EMPTIED = new Set(['pg_wal', 'pg_replslot']);

/** A physical standby of the embedded server in `folder`: a base backup by the server's own functions (the packages bring no
 *  pg_basebackup), then streaming. The first server answers a commit only when the standby has it, so none can be lost; claims are not waited for. */
export async function startStandby(primaryUrl: string, folder: string): Promise<Standby> {
  const primary = new pg.Client({ connectionString: primaryUrl });
  primary.on('error', () => undefined); // the first server is going to be killed
  await primary.connect();
  const dataDir = join(folder, 'standby');
  await primary.query(`SELECT pg_create_physical_replication_slot($1, true)`, [SLOT]);
  await backUp(primary, join(folder, 'postgres'), join(dataDir, 'postgres'));
  copyFileSync(join(folder, 'postgres-password'), join(dataDir, 'postgres-password'));

  const port = await freePort();
  const { hostname, port: primaryPort, username, password } = new URL(primaryUrl);
  const server = await startPostgres({
    dataDir,
    port,
    log: openLog(join(folder, 'logs'), 'standby'),
    settings: {
      primary_conninfo: `host=${hostname} port=${primaryPort} user=${username} password=${password}`,
      primary_slot_name: SLOT,
    },
  });
  // It would outlive us.
  const endAtOnce = (): void => server.kill();
  process.prependListener('disconnect', endAtOnce).once('exit', endAtOnce);
  async function stop(): Promise<void> {
    await server.stop();
    process.off('disconnect', endAtOnce).off('exit', endAtOnce);
  }
  await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
  await primary.query('SELECT pg_reload_conf()');
  await until('commits wait for the standby', async () => {
    const { rows } = await primary.query(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`);
    return rows.length === 1;
  });
  await primary.end();
  return { url: server.url, port, promote: () => promote(server.url), stop };
}

async function backUp(primary: pg.Client, from: string, to: string): Promise<void> {
  await primary.query(`SELECT pg_backup_start('standby', true)`);
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  cpSync(from, to, {
    recursive: true,
    filter: (path) => !LEFT_OUT.has(basename(path)) && !EMPTIED.has(basename(dirname(path))),
  });
  const { rows } = await primary.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
  writeFileSync(join(to, 'backup_label'), rows[0]?.labelfile ?? '');
  writeFileSync(join(to, 'standby.signal'), '');
  // The server refuses data that others may read.
  chmodSync(to, 0o700);
}

async function promote(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('SELECT pg_promote(true, 60)');
    await until('it takes writes', async () => {
      const { rows } = await client.query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"');
      return rows[0]?.isStandby === false;
    });
  } finally {
    await client.end();
  }
}
