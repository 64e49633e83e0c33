import { ConfigError } from '../config.js';
import { copyProblem, namesText } from '../core/installation.js';
import { createPool, inTransaction } from '../db/postgres/client.js';
import {
  ensureIdentity,
  forgetRenewal,
  listConnected,
  readPlace,
  recordMove,
  renameIdentity,
  renewIdentity,
} from '../db/postgres/installation.js';
import type { Sql } from '../ports/sql.js';
import { installationOf } from './embedded/installation.js';
import { StartError } from './embedded/start-error.js';
import { asksForHelp } from './parts/asks-for-help.js';
import { loadConfig } from './parts/from-domains.js';
import { NO_DATABASE } from './parts/missing-servers.js';
import { runProcess } from './parts/run-process.js';

const USAGE = `npm run installation [-- new | moved | rename | renew-queues]
  (nothing)  says which installation this database is
  moved      the database was moved here, and its former place is never used again: it stays the same installation
  new        the database is a copy, and the original is still in use: it becomes an installation of its own
  rename     the database gets other names in Temporal: set INSTALLATION afterwards, and its items go on under that name
  renew-queues  Temporal's matching.enableFairness was switched: the API starts all runs anew that wait for a worker`;

const ACTS: Readonly<Record<string, (sql: Sql) => Promise<void>>> = {
  moved: recordMove,
  new: renewIdentity,
  rename: renameIdentity,
};

/** Processes may be connected: it changes nothing of who they are. */
const RENEW = 'renew-queues';

/** Says which installation the database is, or settles what a copied database is. */
async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (asksForHelp(args)) {
    say(USAGE);
    return;
  }
  const [word, ...more] = args;
  const act = word === undefined ? undefined : ACTS[word];
  if (more.length > 0 || (word !== undefined && word !== RENEW && !act))
    throw new StartError(`installation: use ${USAGE}`);
  const { databaseUrl: url } = installationOf(loadConfig());
  if (url === undefined) throw new ConfigError([NO_DATABASE]);
  const pool = createPool({ url, size: 1, name: 'installation' });
  if (word === RENEW) await forgetRenewal(pool);
  if (act) {
    await assertAlone(pool);
    await inTransaction(pool, act);
  }
  say(await describe(pool));
  await pool.end();
}

/** A process that goes on would work under the former identity beside those that start now. */
async function assertAlone(sql: Sql): Promise<void> {
  await ensureIdentity(sql);
  const connected = await listConnected(sql);
  if (connected.length === 0) return;
  throw new StartError(
    `installation: processes are connected to this database: ${connected.join(', ')}. Stop them, and run this again.`,
  );
}

async function describe(sql: Sql): Promise<string> {
  const identity = await ensureIdentity(sql);
  const problem = copyProblem(identity, await readPlace(sql));
  return problem === null ? `installation ${identity.id}, ${namesText(identity)}` : `installation: ${problem}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await runProcess(main);
