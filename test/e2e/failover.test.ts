import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HELD_LOCKS } from '../../src/db/recovery/workers.js';
import { attemptsOf, effectsOf, itemOf } from '../support/facts.js';
import { type Installation, type PartName, startInstallation } from '../support/installation.js';
import { type Standby, startStandby } from '../support/standby.js';
import { until } from '../support/until.js';
import { type Caller, callerOf } from './caller.js';

const WORKERS = 10;
const NAMES = Array.from({ length: WORKERS }, (_, n): PartName => `worker-${String(n + 1)}`);

/** A busy machine must not look like a frozen one; and ten pools leave room on the server. */
const SETTINGS = { CANARY_BEATS: '10s', DB_POOL_SIZE: '4' };

/** Several for each worker. */
const ITEMS = 30;

let installation: Installation;
let standby: Standby | undefined;
let afterwards: pg.Pool | undefined;
let ada: Caller;
let pids: number[];
beforeAll(async () => {
  installation = await startInstallation(SETTINGS);
  ada = await callerOf(installation, 'ada');
  const url = databaseUrl(installation.wires.workersToPostgres.port);
  const added = NAMES.slice(2).map((name) => installation.add(name as 'worker-3', { told: { DATABASE_URL: url } }));
  await Promise.all(added);
  pids = NAMES.map((name) => installation.pidOf(name));
  standby = await startStandby(databaseUrl(), installation.folder);
}, 240_000);
afterAll(async () => {
  await afterwards?.end();
  await standby?.stop();
  await installation.stop();
});

/** The tester's own, or the same database by way of a wire. */
function databaseUrl(port?: number): string {
  const url = new URL(String(installation.pool.options.connectionString));
  if (port !== undefined) url.port = String(port);
  return url.href;
}

/** Which registered workers hold their lock. */
async function present(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query(`SELECT 1 FROM workers WHERE lock_key IN (${HELD_LOCKS}) AND stopped_at IS NULL`);
  return rows.length;
}

async function busyWorkers(): Promise<number> {
  const { rows } = await installation.pool.query(`SELECT DISTINCT worker FROM tasks WHERE status = 'running'`);
  return rows.length;
}

/** What an attempt that was not done has to say. */
async function troublesOf(pool: pg.Pool, id: string): Promise<object[]> {
  const { rows } = await pool.query<object>(
    `SELECT stage, result, error_class, error_message FROM attempts WHERE item_id = $1 AND result <> 'done'`,
    [id],
  );
  return rows;
}

/** Does it to Postgres while all ten are at work; comes back when everything is done, and nobody was taken for dead. */
async function strike(damage: () => Promise<pg.Pool>): Promise<void> {
  const canary = { stageMs: [100, 3_000, 100] };
  const ids = await Promise.all(Array.from({ length: ITEMS }, () => ada.submit(canary)));
  await until('all ten are at work', async () => (await busyWorkers()) === WORKERS || null);

  const pool = await damage();

  await until('all ten hold their locks again', async () => {
    const held = await present(pool).catch(() => 0);
    return held === WORKERS || null;
  });
  await Promise.all(ids.map((id) => ada.reaches(id, 'DONE', 120_000)));
  for (const id of ids) {
    expect(await effectsOf(pool, id)).toEqual(['1 first', '1 second', '1 third']);
    expect(await troublesOf(pool, id)).toEqual([]);
    expect(await attemptsOf(pool, id)).toEqual(['first done', 'second done', 'third done']);
    expect(await itemOf(pool, id)).toMatchObject({ epoch: 1, rescues: 0 });
  }
  const { rows } = await pool.query(
    `SELECT count(*)::int AS workers, count(*) FILTER (WHERE deaths > 0 OR seen_gone_at IS NOT NULL)::int AS dead,
       (SELECT count(*)::int FROM receipts) AS receipts FROM workers`,
  );
  expect(rows).toEqual([{ workers: WORKERS, dead: 0, receipts: 0 }]);
  expect(NAMES.map((name) => installation.pidOf(name))).toEqual(pids);
}

describe('under ten live workers, none of which is taken for dead', () => {
  it('the sessions are ended by which workers show that they live, and the watcher sees it', async () => {
    await strike(async () => {
      const { rows } = await installation.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '% presence' OR application_name = 'watcher'`,
      );
      expect(rows).toHaveLength(WORKERS + 1);
      return installation.pool;
    });
  }, 180_000);

  it('Postgres is killed, and comes back', async () => {
    await strike(async () => {
      await installation.backFrom('postgres', await installation.kill('postgres'));
      return installation.pool;
    });
  }, 180_000);

  it('Postgres is gone for good, and its standby takes over at another address', async () => {
    await strike(async () => {
      if (!standby) throw new Error('there is no standby');
      await installation.takeAway('postgres');
      await standby.promote();
      installation.wires.apiToPostgres.aim(standby.port);
      installation.wires.workersToPostgres.aim(standby.port);
      afterwards = new pg.Pool({ connectionString: standby.url });
      return afterwards;
    });
  }, 180_000);
});
