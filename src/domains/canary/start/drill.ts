import { hostname } from 'node:os';
import { messageOf } from '../../../core/errors.js';
import { closingSentenceOf } from '../../../start/parts/closing-sentence.js';
import { loadConfig } from '../../../start/parts/from-domains.js';
import { createPool } from '../../../db/postgres/client.js';
import { isTransient } from '../../../db/postgres/database-fault.js';
import { tokenFor } from '../../../start/parts/api-client.js';
import { createDrillApi } from './drill/drill-api.js';
import { createDrillDatabase } from './drill/drill-database.js';
import { drillOptionsOf, type DrillOptions } from './drill/drill-options.js';
import { LIMITS } from './drill/limits.js';
import { closingOf, drillFiguresOf, tableOf } from './drill/report.js';
import { runRound, type RoundDeps } from './drill/round.js';
import { roundVerdict, type RoundKind, type RoundVerdict } from './drill/verdict.js';
import { installationOf } from '../../../start/embedded/installation.js';
import { StartError } from '../../../start/embedded/start-error.js';

/** Longer than all time limits between a canary's stages together, because several may be reached one after the
 *  other. */
const PATIENCE_MS = 60_000;

/** On Ctrl-C the terminal signals this process, and npm passes the same signal on. A second signal within this time is
 *  that copy. */
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

/** The first signal calls the drill off, which wakes the frozen workers. A second signal ends the process, and the
 *  guard wakes them. */
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
    const figures = drillFiguresOf(rounds, options);
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

function sentenceOf(error: unknown): string {
  const isDatabaseAway = !(error instanceof StartError) && isTransient(error);
  return isDatabaseAway
    ? `drill: the database does not answer (${messageOf(error)}).`
    : closingSentenceOf(error, 'drill');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
