import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { isAlive } from '../../../scripts/pid-lock.mjs';
import { commandLineOf, signalIfThere, waitUntilGone } from './os-process.js';
import { clusterFolder, openCluster, POSTGRES_USER, spawnBinary, type Cluster } from './postgres-cluster.js';
import { untilReady, type Log, type Running, type Spawned } from './running.js';
import { StartError } from './start-error.js';

export interface PostgresOptions {
  /** The folder that holds `postgres/` and `postgres-password`; the caller sees to it that nobody else uses it. */
  dataDir: string;
  port: number;
  log: Log;
  /** More server settings, such as `fsync: 'off'` for a test's throw-away data. */
  settings?: Record<string, string>;
  /** Gives up starting when aborted. */
  signal?: AbortSignal;
}

export interface RunningPostgres extends Running {
  url: string;
}

const DATABASE = 'unstuck';

/** Crash recovery after a power cut replays up to max_wal_size (1 GB), which a slow disk needs a minute for. */
const READY_WITHIN_MS = 120_000;

/** A fast shutdown writes a checkpoint; SIGQUIT leaves that to the recovery of the next start. */
const STOP_STEPS = [
  { signal: 'SIGINT', graceMs: 10_000 },
  { signal: 'SIGQUIT', graceMs: 3_000 },
] as const;

/** Higher than any system gives out. */
const NO_PID = 2_147_483_646;

/** Starts a real Postgres server on 127.0.0.1; makes its cluster and the database at the first start. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const { port, log } = options;
  const dataDir = resolve(options.dataDir);
  const cluster = await openCluster(dataDir, log);
  await stopPostgresLeftBehind(dataDir, log);
  const server = await startServer(cluster, options, Date.now() + READY_WITHIN_MS);
  const url = `postgresql://${POSTGRES_USER}:${cluster.password}@127.0.0.1:${port}/${DATABASE}`;
  return { url, pid: server.pid, exited: server.exited, stop: server.stop, kill: server.kill };
}

/** After a kill -9 of its parent the server lives on. It is stopped, so that the running server is always our own child. */
export async function stopPostgresLeftBehind(dataDir: string, log: Log): Promise<void> {
  const folder = clusterFolder(resolve(dataDir));
  const file = join(folder, 'postmaster.pid');
  if (!existsSync(file)) return;
  const [first, ...rest] = readFileSync(file, 'utf8').split('\n');
  const pid = Number(first);
  if (!Number.isInteger(pid) || pid <= 0) return rmSync(file);
  if (isAlive(pid) && isServerOf(folder, pid)) return stopServer(folder, pid, log);
  // The pid is dead or now another program's. The file also names the shared memory, by which Postgres sees backends that
  // outlived their server: so it is kept, with a pid that can't be mistaken.
  writeFileSync(file, [NO_PID, ...rest].join('\n'));
}

function isServerOf(folder: string, pid: number): boolean {
  const command = commandLineOf(pid);
  return command.includes('postgres') && command.includes(folder);
}

async function stopServer(folder: string, pid: number, log: Log): Promise<void> {
  log(`stopping the Postgres that an earlier start left behind (pid ${pid})`);
  for (const { signal, graceMs } of STOP_STEPS) {
    signalIfThere(pid, signal);
    if (await waitUntilGone(pid, graceMs)) return;
  }
  throw new StartError(
    `cannot start: the Postgres of an earlier start (pid ${pid}) uses ${folder} and does not stop. End it and start again.`,
  );
}

async function startServer(cluster: Cluster, options: PostgresOptions, deadline: number): Promise<Spawned> {
  const { port, log, signal } = options;
  const args = ['-D', cluster.folder, '-p', String(port), ...flagsOf(options.settings)];
  const server = await spawnBinary(cluster, {
    binary: 'postgres',
    args,
    stopSteps: STOP_STEPS,
    killSignal: 'SIGQUIT',
    log,
  });
  try {
    await untilReady(server, { name: 'Postgres', signal, check: (over) => whenReady(cluster, port, deadline, over) });
    return server;
  } catch (error) {
    // Backends of a server that was killed need a moment to notice.
    const outlived = server.lastLines.some((line) => line.includes('is still in use'));
    if (!outlived || Date.now() > deadline) throw error;
    await pause(200);
    return startServer(cluster, options, deadline);
  }
}

function flagsOf(more: Record<string, string> = {}): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    // A dozen processes with ten sessions each, their presence, and room for a person.
    max_connections: '200',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...more,
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Ready is when a session on *our* cluster works: on a busy port another server would answer. */
async function whenReady(cluster: Cluster, port: number, deadline: number, over: AbortSignal): Promise<void> {
  const session = { host: '127.0.0.1', port, user: POSTGRES_USER, password: cluster.password, database: 'postgres' };
  while (!over.aborted) {
    const client = new pg.Client({ ...session, connectionTimeoutMillis: 5_000 });
    client.on('error', () => undefined); // a session cut while starting: the next try tells
    try {
      await client.connect();
      return await ensureDatabase(client, cluster.folder).finally(() => client.end());
    } catch (cause) {
      if (Date.now() > deadline)
        throw new StartError(`cannot start: Postgres gives no session on 127.0.0.1:${port}.`, { cause });
    }
    await pause(50);
  }
}

async function ensureDatabase(client: pg.Client, folder: string): Promise<void> {
  const { rows } = await client.query<{ folder: string; found: boolean }>(
    `select current_setting('data_directory') as folder, exists (select from pg_database where datname = $1) as found`,
    [DATABASE],
  );
  if (rows[0]?.folder !== folder) throw new Error(`another Postgres answers (${rows[0]?.folder})`);
  if (!rows[0].found) await client.query(`create database ${DATABASE}`);
}
