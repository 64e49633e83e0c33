import { join } from 'node:path';
import { projectRoot, type Config } from '../../config.js';
import { migrate } from '../../db/postgres/migrate.js';
import type { DataDir } from './data-dir.js';
import { apiUrlOf } from './installation.js';
import { createProcessNotes, type ProcessNotes } from './left-behind.js';
import { openLog } from './log-file.js';
import { nodePart, type Silence } from './node-part.js';
import { assertCanStart, stopServersLeftBehind } from './preflight.js';
import { reportFall } from './report-fall.js';
import type { Log } from './running.js';
import { childVariablesOf } from '../parts/from-domains.js';
import { type AdminToken, ensureAdminToken, ensureJwtSecret } from '../parts/secrets.js';
import { startServers } from './servers.js';
import { StartError } from './start-error.js';
import type { Part, Supervisor } from './supervisor.js';
import { whenHealthy } from './when-healthy.js';

export interface EverythingRequest {
  config: Config;
  dataDir: DataDir;
  supervisor: Supervisor;
  say: Log;
  /** Aborted when all is to stop. */
  signal: AbortSignal;
}

/** Servers, migrations, API and workers, in that order; resolves when the API says that all is well. */
export async function startEverything({ config, dataDir, supervisor, say, signal }: EverythingRequest): Promise<void> {
  const notes = createProcessNotes(join(dataDir.path, 'processes.json'));
  const temporalFile = join(dataDir.path, 'temporal.db');
  const [gone] = await Promise.all([notes.endLeftBehind(say), stopServersLeftBehind(config, temporalFile, say)]);
  await assertCanStart(config);

  const secret = config.auth.jwksUrl ? undefined : (config.auth.secret ?? ensureJwtSecret(dataDir.path));
  const { databaseUrl, directUrl, temporalAddress } = await startServers({
    config,
    dataDir,
    temporalFile,
    supervisor,
    say,
  });
  await applyMigrations(directUrl, say);
  // No watcher saw them go: workers among them would be taken for frozen, and what they ran for silent.
  for (const pid of gone) await reportFall(directUrl, pid);

  say(`starting the API on ${config.api.host}:${config.api.port} and ${config.embedded.workers} workers`);
  const environment = {
    DATABASE_URL: databaseUrl,
    DATABASE_DIRECT_URL: directUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_UI_URL: temporalUiOf(config),
    DATA_DIR: dataDir.path,
    JWT_SECRET: secret,
    ...childVariablesOf(config),
  };
  // Before the API: whoever sees that it is ready may read the token.
  const token = secret === undefined ? undefined : await ensureAdminToken(dataDir.path, { ...config.auth, secret });
  await supervisor.start(nodeParts({ config, dataDir, told: environment, notes, say }));
  const url = apiUrlOf(config.api);
  await whenHealthy(url, { needsWorkers: config.embedded.workers > 0, say, signal });
  announce(config, { dataDir: dataDir.path, url, token, say });
}

function temporalUiOf({ temporal, embedded }: Config): string | undefined {
  return temporal.address === undefined ? `http://127.0.0.1:${embedded.temporalUiPort}` : temporal.uiUrl;
}

async function applyMigrations(url: string, say: Log): Promise<void> {
  try {
    const { applied } = await migrate(url, join(projectRoot, 'prisma', 'migrations'));
    if (applied.length > 0) say(`applied ${applied.length} migration${applied.length > 1 ? 's' : ''}`);
  } catch (cause) {
    throw new StartError(`cannot start: the database could not be migrated: ${(cause as Error).message}`, { cause });
  }
}

type Told = Record<string, string | undefined>;
type ToldAll = Told & { DATABASE_DIRECT_URL: string };

interface NodeParts {
  config: Config;
  dataDir: DataDir;
  told: ToldAll;
  notes: ProcessNotes;
  say: Log;
}

function nodeParts({ config, dataDir, told, notes, say }: NodeParts): Part[] {
  const part = (name: string, script: string, more: Told, silence?: Silence): Part =>
    nodePart({
      name,
      script: join(projectRoot, 'dist', 'start', script),
      environment: { ...told, ...more },
      graceMs: config.shutdownGraceMs + config.api.drainMs,
      log: openLog(dataDir.logs, name),
      onSpawn: (pid) => notes.note(name, pid),
      // Should it fail, its lock tells the same a little later.
      onFall: (pid) => void reportFall(told.DATABASE_DIRECT_URL, pid).catch(() => undefined),
      ...(silence && { silence }),
    });
  const silence = { limitMs: config.worker.silentMs, say };
  const names = Array.from({ length: config.embedded.workers }, (_, index) => `worker-${index + 1}`);
  // The port for metrics is the API's: two processes can't share one.
  const workers = names.map((name) => part(name, 'worker.js', { WORKER_NAME: name, METRICS_PORT: '' }, silence));
  return [part('api', 'api.js', {}), ...workers];
}

interface Announcement {
  dataDir: string;
  url: string;
  /** Undefined: another issuer makes the tokens. */
  token: AdminToken | undefined;
  say: Log;
}

function announce(config: Config, { dataDir, url, token, say }: Announcement): void {
  say('');
  say('Ready.');
  say(`  API reference    ${url}/docs`);
  const temporalUi = temporalUiOf(config);
  if (temporalUi) say(`  Temporal Web UI  ${temporalUi}`);
  say(`  Data and logs    ${dataDir}`);
  if (token === undefined) say(`  Tokens           from the issuer behind ${config.auth.jwksUrl}`);
  else {
    const kept = `in ${token.file}`;
    say(`  Admin token      ${token.isNew ? `${token.token} (shown once, kept ${kept})` : kept}`);
  }
  if (config.embedded.workers === 0) say('  Workers          none, because WORKERS=0; npm run worker starts one');
  say('Ctrl-C stops everything.');
}
