import { join } from 'node:path';
import pg from 'pg';
import { projectRoot } from '../../config.js';
import { messageOf } from '../../core/errors.js';
import { WORKER_SILENT_SECONDS } from '../../core/worker-silence.js';
import { pendingMigrations } from '../../db/postgres/migrate.js';
import { goneTimeOf } from '../../db/recovery/gone-worker.js';
import { HELD_LOCKS } from '../../db/recovery/workers.js';
import { type Check, type Finding, type Patient, reportOk, reportProblem, reportWarning } from './check.js';
import { clockFinding } from './clock.js';

/** The oldest version that the SQL is written for. The tests run on the version that is embedded. */
const MIN_VERSION = 15;

const DATABASE = 'database';

export const databaseChecks: readonly Check[] = [
  { name: DATABASE, run: checkReachable },
  { name: 'database version', needs: DATABASE, run: checkVersion },
  { name: 'migrations', needs: DATABASE, run: checkMigrations },
  { name: 'database clock', needs: DATABASE, run: checkClock },
  { name: 'event order', needs: 'migrations', run: checkEventOrder },
  { name: 'workers', needs: 'migrations', run: checkWorkers },
];

async function checkReachable({ config, installation, pool }: Patient): Promise<Finding> {
  if (!pool || installation.databaseUrl === undefined) {
    return reportProblem(
      `No Postgres was ever started in ${config.dataDir}.`,
      'Start it with npm start, or set DATABASE_URL.',
    );
  }
  const { hostname, port, username, pathname } = new URL(installation.databaseUrl);
  const server = `${hostname || 'localhost'}:${port || '5432'}`;
  try {
    await pool.query('SELECT 1');
    return reportOk(`Postgres answers at ${server}.`);
  } catch (error) {
    const code = error instanceof pg.DatabaseError ? error.code : undefined;
    if (code === '28P01' || code === '28000') {
      return reportProblem(
        `The Postgres at ${server} refuses user '${username}'.`,
        'Correct user and password in DATABASE_URL.',
      );
    }
    if (code === '3D000') {
      return reportProblem(
        `The Postgres at ${server} has no database '${pathname.slice(1)}'.`,
        'Create it, or correct DATABASE_URL.',
      );
    }
    const remedy =
      config.database.url === undefined ? 'Start it with npm start.' : 'Start it, or correct DATABASE_URL.';
    return reportProblem(`Postgres does not answer at ${server} (${messageOf(error)}).`, remedy);
  }
}

async function checkVersion(patient: Patient): Promise<Finding> {
  const { name, number } = await queryOne<{ name: string; number: number }>(
    patient,
    `SELECT current_setting('server_version') AS name, current_setting('server_version_num')::int AS number`,
  );
  const says = `It is Postgres ${name}.`;
  return number >= MIN_VERSION * 10_000
    ? reportOk(says)
    : reportProblem(says, `Upgrade it to ${MIN_VERSION} or later.`);
}

async function checkMigrations({ installation }: Patient): Promise<Finding> {
  const folder = join(projectRoot, 'prisma', 'migrations');
  try {
    const pending = await pendingMigrations(installation.databaseUrl ?? '', folder);
    if (pending.length === 0) return reportOk('Every migration is applied.');
    return reportProblem(
      `Not applied: ${pending.join(', ')}.`,
      'Apply them with npm run migrate; npm start applies them by itself.',
    );
  } catch (error) {
    return reportProblem(
      `The history of migrations is not ours: ${messageOf(error)}.`,
      'Use the version that fits this database.',
    );
  }
}

async function checkClock(patient: Patient): Promise<Finding> {
  const beforeMs = Date.now();
  const { theirsMs } = await queryOne<{ theirsMs: number }>(
    patient,
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "theirsMs"',
  );
  return clockFinding('the database', { beforeMs, theirsMs, afterMs: Date.now() });
}

/** The feed of events is ordered by transaction ids, which a dump carries along and a new cluster begins anew. An entry with an id
 *  ahead of the cluster is told as new when the cluster's ids get there. */
async function checkEventOrder(patient: Patient): Promise<Finding> {
  const { isAhead } = await queryOne<{ isAhead: boolean }>(
    patient,
    `SELECT EXISTS (SELECT 1 FROM audit WHERE xact >= pg_snapshot_xmax(pg_current_snapshot())) AS "isAhead"`,
  );
  if (!isAhead) return reportOk('Every event is in the order of this database.');
  return reportProblem(
    'Audit entries come from another database cluster: this database was restored from a dump, and old events will be told as new.',
    'Stop the API and the workers, and run the statements under "After a restore" in docs/operations.md.',
  );
}

async function checkWorkers(patient: Patient): Promise<Finding> {
  const { present, silent } = await queryOne<{ present: string[]; silent: string[] }>(
    patient,
    `WITH known AS (
       SELECT name || ' on ' || host AS place, format('%s on %s (pid %s)', name, host, pid) AS process,
         seen_at > now() - interval '${WORKER_SILENT_SECONDS} seconds' AS is_seen, lock_key IN (${HELD_LOCKS}) AS is_held
       FROM workers WHERE ${goneTimeOf('workers')} IS NULL
     )
     SELECT coalesce(array_agg(place ORDER BY place) FILTER (WHERE is_seen), '{}') AS present,
       coalesce(array_agg(process ORDER BY process) FILTER (WHERE NOT is_seen AND is_held), '{}') AS silent FROM known`,
  );
  if (present.length === 0) {
    const wake = silent.length > 0 ? ` Or wake ${silent.join(', ')}: the process is there and says nothing.` : '';
    return reportProblem(
      `No worker was seen in the last ${WORKER_SILENT_SECONDS} s.`,
      `Start workers with npm run worker.${wake}`,
    );
  }
  // A worker that holds its lock and is silent is frozen or blocked. It takes no work, and nobody restarts it.
  if (silent.length > 0) {
    return reportWarning(
      `Silent for more than ${WORKER_SILENT_SECONDS} s though the process is there: ${silent.join(', ')}.`,
      'Wake it, or end it and start another: what it held is done elsewhere.',
    );
  }
  return reportOk(`There: ${present.join(', ')}.`);
}

async function queryOne<Row extends pg.QueryResultRow>({ pool }: Patient, statement: string): Promise<Row> {
  const row = (await pool?.query<Row>(statement))?.rows[0];
  if (!row) throw new Error('the database gave no answer');
  return row;
}
