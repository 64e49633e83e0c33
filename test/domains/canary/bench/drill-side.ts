import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporalCli } from '../../../../scripts/find-temporal-cli.mjs';
import { projectRoot } from '../../../../src/config.js';
import { createPool } from '../../../../src/db/postgres/client.js';
import { assembleCrew } from '../../../../src/domains/canary/start/drill/crew.js';
import { createDrillApi } from '../../../../src/domains/canary/start/drill/drill-api.js';
import { createDrillDatabase } from '../../../../src/domains/canary/start/drill/drill-database.js';
import { LIMITS } from '../../../../src/domains/canary/start/drill/limits.js';
import { runRound, type RoundDeps } from '../../../../src/domains/canary/start/drill/round.js';
import { type RoundKind, roundVerdict, type RoundVerdict } from '../../../../src/domains/canary/start/drill/verdict.js';
import { startTemporal } from '../../../../src/start/embedded/embedded-temporal.js';
import { installationOf } from '../../../../src/start/embedded/installation.js';
import { spawnRunning, untilReady } from '../../../../src/start/embedded/running.js';
import { whenHealthy } from '../../../../src/start/embedded/when-healthy.js';
import { tokenFor } from '../../../../src/start/parts/api-client.js';
import { listVariableNames, loadConfig } from '../../../../src/start/parts/from-domains.js';
import { createTemporalClient } from '../../../../src/temporal/connection.js';
import { queueStatus } from '../../../../src/temporal/queue-status.js';
import type { Stops } from '../../../../bench/server.js';
import { freePort } from '../../../support/free-port.js';
import { until } from '../../../support/until.js';

/** One canary is struck, and the others show that the rest goes on. The second stage is long enough for the strike to reach it on a busy machine. */
const OPTIONS = { items: 2, stageMs: 1_000 };

/** How much longer than its own work a step of a drill may take on a busy machine. */
const PATIENCE_MS = 60_000;

/** The benchmark judges the times of both sides together. How late a drill may be by itself does not matter here. */
const DRILL_LIMITS = { ...LIMITS, elsewhereMs: Infinity };

/** The installation ends its processes within its grace of a second, its servers in some seconds more. */
const STOP_STEPS = [{ signal: 'SIGTERM', graceMs: 30_000 }] as const;

export interface DrillSide {
  /** Comes back when the worker that was struck works again, so that its start is no part of the next drill. */
  drill(kind: RoundKind): Promise<RoundVerdict>;
}

/** An installation as `npm start` runs it, on a Temporal server with these timers; left out: with those that it has by itself. */
export async function startDrillSide(stops: Stops, signal: AbortSignal, timerShiftMs?: number): Promise<DrillSide> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-drills-'));
  stops.push(() => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  const log = (): void => undefined;
  const files = { cliPath: findTemporalCli(), dbFile: join(folder, 'temporal.db') };
  const shift = timerShiftMs === undefined ? {} : { timerShiftMs };
  const temporal = await startTemporal({ ...files, ...shift, port: await freePort(), log, signal });
  stops.push(temporal.stop);
  const settings = {
    // Neither the caller's environment nor an .env reaches the installation: an empty value counts as not set.
    ...Object.fromEntries(listVariableNames().map((name) => [name, ''])),
    DATA_DIR: folder,
    PORT: String(await freePort()),
    POSTGRES_PORT: String(await freePort()),
    TEMPORAL_ADDRESS: temporal.address,
    SHUTDOWN_GRACE_MS: '1000',
    RATE_LIMIT_PER_MINUTE: '1000000',
  };
  const config = loadConfig(settings);
  // With this variable the installation ends when this process is gone, however it ended.
  const env = { ...process.env, ...settings, npm_lifecycle_event: 'start' };
  const options = { cwd: projectRoot, env };
  const args = [join(projectRoot, 'dist', 'start', 'all.js')];
  const all = await spawnRunning({ command: process.execPath, args, options, stopSteps: STOP_STEPS, log });
  stops.push(all.stop);
  const { apiUrl } = installationOf(config);
  const check = (over: AbortSignal): Promise<void> =>
    whenHealthy(apiUrl, { needsWorkers: true, say: log, signal: over });
  await untilReady(all, { name: 'the installation', check, signal });

  const { databaseUrl } = installationOf(config);
  if (databaseUrl === undefined) throw new Error(`there is no database in ${folder}`);
  const pool = createPool({ url: databaseUrl, size: 2, name: 'bench' });
  stops.push(() => pool.end());
  const client = createTemporalClient({ ...config.temporal, address: temporal.address });
  stops.push(() => client.connection.close());
  const deps: RoundDeps = {
    api: createDrillApi(apiUrl, tokenFor('bench', undefined, config)),
    database: createDrillDatabase(pool),
    options: OPTIONS,
    host: hostname(),
    patienceMs: PATIENCE_MS,
    say: log,
    signal,
  };
  async function untilAllWork(kind: RoundKind): Promise<void> {
    const crew = await assembleCrew(deps, kind);
    await until('every worker asks for work', async () => {
      const { pollers } = await queueStatus(client, 'canary');
      return crew.every(({ id }) => pollers.some(({ identity }) => identity === id));
    });
  }
  return {
    async drill(kind) {
      await untilAllWork(kind);
      const verdict = roundVerdict(await runRound(deps, kind), DRILL_LIMITS);
      await untilAllWork(kind);
      return verdict;
    },
  };
}
