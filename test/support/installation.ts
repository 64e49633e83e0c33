import { spawn, type SpawnOptionsWithoutStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import pg from 'pg';
import { findTemporalCli } from '../../scripts/find-temporal-cli.mjs';
import { projectRoot } from '../../src/config.js';
import { listVariableNames } from '../../src/start/parts/from-domains.js';
import { migrate } from '../../src/db/postgres/migrate.js';
import { startPostgres } from '../../src/start/embedded/embedded-postgres.js';
import { startTemporal } from '../../src/start/embedded/embedded-temporal.js';
import { freePort } from './free-port.js';
import { openLog } from '../../src/start/embedded/log-file.js';
import { nodePart } from '../../src/start/embedded/node-part.js';
import { createSupervisor } from '../../src/start/embedded/supervisor.js';
import { whenHealthy } from '../../src/start/embedded/when-healthy.js';
import { createKillableParts, type KillableParts } from './killable-parts.js';
import { type Proxy, startProxy } from './proxy.js';

export type PartName = 'postgres' | 'temporal' | 'api' | AddedName;
type AddedName = `api-${string}` | `worker-${string}`;

export type WireName = 'apiToTemporal' | 'apiToPostgres' | 'workersToTemporal' | 'workersToPostgres';

/** A whole installation of its own: every part a real process, supervised as `npm start` does, that a test may kill. */
export interface Installation extends KillableParts<PartName> {
  url: string;
  /** The tester's own way to the database, past everything that is tested. */
  pool: pg.Pool;
  temporalAddress: string;
  /** What the API and the workers say to Temporal and to Postgres goes through these. */
  wires: Record<WireName, Proxy>;
  /** Data and logs. */
  folder: string;
  token(subject: string, roles?: string[], email?: string): Promise<string>;
  /** Comes back when every part runs. */
  allRunning(): Promise<void>;
  /** Comes back when every part runs and the API says that all is well. */
  ready(withinMs?: number): Promise<void>;
  /** One more process of it, perhaps of another build; comes back when it runs, with the address that an API listens at. */
  add(name: AddedName, options?: { root?: string; told?: Record<string, string> }): Promise<string>;
  /** Brings the database up to the build at `root`, by that build's own command; answers with the command's output. */
  migrateTo(root: string): Promise<string>;
  /** Ends everything; the folder stays if it is wanted for a look at the logs. */
  stop(keep?: 'keep the folder'): Promise<void>;
}

/** Longer than any part needs to come back on a busy machine. */
const READY_WITHIN_MS = 60_000;

/** Stages are ended by kills here, not by good-byes: what is left running at the end is thrown away. */
const GRACE_MS = 1_000;

/** `settings` are variables of every process of it. `firstRoot` is the build that it starts with: ours, or an older one. */
export async function startInstallation(
  settings: Record<string, string> = {},
  firstRoot = projectRoot,
  isFair = true,
): Promise<Installation> {
  await setUp();
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-installation-'));
  const logs = join(folder, 'logs');
  mkdirSync(logs);
  const [postgresPort, temporalPort, apiPort] = [await freePort(), await freePort(), await freePort()];
  const supervisor = createSupervisor({ say: openLog(logs, 'supervisor') });
  const parts = createKillableParts<PartName>();
  const wires = {
    apiToTemporal: await startProxy(temporalPort),
    apiToPostgres: await startProxy(postgresPort),
    workersToTemporal: await startProxy(temporalPort),
    workersToPostgres: await startProxy(postgresPort),
  };
  const secret = randomBytes(48).toString('base64url');
  const url = `http://127.0.0.1:${String(apiPort)}`;
  const temporalAddress = `127.0.0.1:${String(temporalPort)}`;
  let databaseUrl = '';
  let pool: pg.Pool | undefined;

  // Tries again for a second: a server that is being ended may still write.
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  // The servers would outlive us. A fork of vitest ends itself when its channel closes, so this must come before that.
  const endAtOnce = (): void => {
    parts.thawAll();
    supervisor.kill();
    remove();
  };
  // What is just being started can only be ended by waiting for it.
  const endOnSignal = (): void => {
    parts.thawAll();
    void supervisor.stop().finally(() => process.exit(1));
  };
  process.prependListener('disconnect', endAtOnce);
  process.once('exit', endAtOnce).once('SIGINT', endOnSignal).once('SIGTERM', endOnSignal);

  async function stop(keep?: 'keep the folder'): Promise<void> {
    parts.thawAll();
    await pool?.end();
    await supervisor.stop();
    await Promise.all(Object.values(wires).map((wire) => wire.close()));
    process.off('exit', endAtOnce).off('disconnect', endAtOnce).off('SIGINT', endOnSignal).off('SIGTERM', endOnSignal);
    if (!keep) remove();
  }

  async function start(): Promise<pg.Pool> {
    await supervisor.start([
      parts.killable('postgres', async (signal) => {
        const server = await startPostgres({
          dataDir: folder,
          port: postgresPort,
          log: openLog(logs, 'postgres'),
          signal,
        });
        databaseUrl = server.url;
        return server;
      }),
      parts.killable('temporal', (signal) => {
        const files = { cliPath: findTemporalCli(), dbFile: join(folder, 'temporal.db') };
        return startTemporal({ ...files, isFair, port: temporalPort, log: openLog(logs, 'temporal'), signal });
      }),
    ]);
    if (firstRoot === projectRoot) await migrate(databaseUrl, join(projectRoot, 'prisma', 'migrations'));
    else await migrateTo(firstRoot);
    const apiTold = { PORT: String(apiPort), ...serversOver(wires.apiToPostgres, wires.apiToTemporal) };
    const workersTold = serversOver(wires.workersToPostgres, wires.workersToTemporal);
    await supervisor.start([
      node('api', 'api.js', apiTold, firstRoot),
      ...(['worker-1', 'worker-2'] as const).map((name) =>
        node(name, 'worker.js', { WORKER_NAME: name, ...workersTold }, firstRoot),
      ),
    ]);
    const own = new pg.Pool({ connectionString: databaseUrl, max: 4 });
    own.on('error', () => undefined); // cut off by a kill: the next query opens a new connection
    // The pool no longer listens to a connection that it is closing, and the server may be ended at that moment.
    own.on('connect', (client) => client.on('error', () => undefined));
    return own;
  }

  async function add(name: AddedName, { root, told }: { root?: string; told?: Record<string, string> } = {}) {
    const port = String(await freePort());
    const isApi = name.startsWith('api');
    const own = isApi ? { PORT: port } : { WORKER_NAME: name };
    await supervisor.start([node(name, isApi ? 'api.js' : 'worker.js', { ...own, ...told }, root)]);
    return `http://127.0.0.1:${port}`;
  }

  function serversOver(toPostgres: Proxy, toTemporal: Proxy): Record<string, string> {
    return {
      DATABASE_URL: atPort(databaseUrl, toPostgres.port),
      TEMPORAL_ADDRESS: `127.0.0.1:${String(toTemporal.port)}`,
    };
  }

  async function migrateTo(root: string): Promise<string> {
    const env = { ...process.env, ...environmentOf({}) };
    return runToEnd(join(root, 'dist', 'start', 'migrate.js'), 'the migration failed', { cwd: root, env });
  }

  function environmentOf(told: Record<string, string>): Record<string, string> {
    return {
      // Neither the tester's environment nor an .env reaches the installation: an empty value counts as not set.
      ...Object.fromEntries(listVariableNames().map((variable) => [variable, ''])),
      DATABASE_URL: databaseUrl,
      TEMPORAL_ADDRESS: temporalAddress,
      DATA_DIR: folder,
      JWT_SECRET: secret,
      // A tester sends as fast as the installation takes it.
      RATE_LIMIT_PER_MINUTE: '1000000',
      SHUTDOWN_GRACE_MS: String(GRACE_MS),
      ...settings,
      ...told,
    };
  }

  function node(name: PartName, script: string, told: Record<string, string>, root = projectRoot) {
    const environment = environmentOf(told);
    const path = join(root, 'dist', 'start', script);
    const part = nodePart({ name, script: path, environment, graceMs: GRACE_MS, log: openLog(logs, name) });
    return parts.killable(name, (signal) => part.start(signal));
  }

  async function ready(withinMs = READY_WITHIN_MS): Promise<void> {
    const signal = AbortSignal.timeout(withinMs);
    await parts.allRunning(withinMs);
    await whenHealthy(url, { needsWorkers: true, say: () => undefined, signal });
  }

  try {
    pool = await start();
    await ready();
  } catch (error) {
    await stop('keep the folder');
    throw new Error(`the installation did not start; its logs are in ${logs}`, { cause: error });
  }
  return {
    ...parts,
    url,
    pool,
    temporalAddress,
    wires,
    folder,
    token: (subject, roles = ['user'], email) =>
      new SignJWT({ roles, ...(email !== undefined && { email }) })
        .setProtectedHeader({ alg: 'HS256' })
        .setSubject(subject)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(new TextEncoder().encode(secret)),
    allRunning: () => parts.allRunning(READY_WITHIN_MS),
    ready,
    add,
    migrateTo,
    stop,
  };
}

function atPort(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl);
  url.port = String(port);
  return url.href;
}

/** Makes sure that dist/ is what src/ says; does nothing when nothing changed. */
async function setUp(): Promise<void> {
  await runToEnd(join(projectRoot, 'scripts', 'setup.mjs'), 'set-up failed');
}

/** Runs a script of Node to its end; answers with its output, and throws it under `complaint` if the script failed. */
async function runToEnd(script: string, complaint: string, options: SpawnOptionsWithoutStdio = {}): Promise<string> {
  const child = spawn(process.execPath, [script], options);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${complaint}:\n${output}`);
  return output;
}
