import { hostname } from 'node:os';
import { ConfigError, loadConfig } from '../../../config.js';
import { createPool } from '../../../db/postgres/client.js';
import { isTransient } from '../../../db/transient.js';
import { tokenFor } from '../../../start/parts/api-client.js';
import { createDrillApi } from './drill/drill-api.js';
import { createDrillDatabase } from './drill/drill-database.js';
import { drillOptionsOf, type DrillOptions } from './drill/drill-options.js';
import { LIMITS } from '../../../start/drill/limits.js';
import { closingOf, figuresOf, tableOf } from './drill/report.js';
import { runRound, type RoundDeps } from './drill/round.js';
import { roundVerdict, type RoundKind, type RoundVerdict } from './drill/verdict.js';
import { installationOf } from '../../../start/embedded/installation.js';
import { StartError } from '../../../start/embedded/start-error.js';

/** Longer than the time limits between a canary's stages, should several of them strike one after the other. */
const PATIENCE_MS = 60_000;

/** npm passes a terminal's Ctrl-C on to us, who got it already: what comes within this time is the same one. */
const SAME_SIGNAL_MS = 500;

async function drill(options: DrillOptions, signal: AbortSignal): Promise<RoundVerdict[]> {
  const config = loadConfig();
  const { databaseUrl, apiUrl } = installationOf(config);
  if (databaseUrl === undefined) {
    throw new StartError(
      `drill: no installation was ever started in ${config.dataDir}. Start it with npm start, or set DATA_DIR or DATABASE_URL.`,
    );
  }
  const url = options.url ?? apiUrl;
  const pool = createPool({ url: databaseUrl, size: 2, name: 'drill' });
  const deps: RoundDeps = {
    api: createDrillApi(url, tokenFor('drill', options.token, config)),
    database: createDrillDatabase(pool),
    options,
    host: hostname(),
    patienceMs: PATIENCE_MS,
    say,
    signal,
  };
  try {
    await deps.api.assertAdmitted();
    return await runRounds(deps, options.freeze ? ['freeze', 'freezeInCommit'] : ['kill']);
  } finally {
    await pool.end();
  }
}

async function runRounds(deps: RoundDeps, kinds: readonly RoundKind[]): Promise<RoundVerdict[]> {
  const verdicts: RoundVerdict[] = [];
  for (const kind of kinds) {
    const verdict = roundVerdict(await runRound(deps, kind), LIMITS);
    verdicts.push(verdict);
    say(`${tableOf(verdict)}\n`);
  }
  return verdicts;
}

/** The first signal calls the drill off, which wakes what is frozen; after a second one the guard does. */
function stopOnSignals(): AbortSignal {
  const stop = new AbortController();
  let stoppedAt = 0;
  function onSignal(): void {
    if (!stop.signal.aborted) {
      stoppedAt = performance.now();
      stop.abort(new StartError('drill: interrupted; its canaries are cancelled.'));
    } else if (performance.now() - stoppedAt > SAME_SIGNAL_MS) process.exit(1);
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal);
  return stop.signal;
}

async function main(): Promise<void> {
  try {
    const options = drillOptionsOf(process.argv.slice(2));
    const rounds = await drill(options, stopOnSignals());
    const figures = figuresOf(rounds, options);
    say(closingOf(rounds, LIMITS));
    say(JSON.stringify(figures));
    process.exitCode = figures.ok ? 0 : 1;
  } catch (error) {
    const sentence = sentenceOf(error);
    process.stderr.write(`${sentence}\n`);
    say(JSON.stringify({ ok: false, problems: [sentence] }));
    process.exitCode = 1;
  }
}

/** A reason that its reader can act on stands alone; anything else is a fault of ours and shows where. */
function sentenceOf(error: unknown): string {
  if (error instanceof StartError || error instanceof ConfigError) return error.message;
  if (isTransient(error)) return `drill: the database does not answer (${(error as Error).message}).`;
  return `drill: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
