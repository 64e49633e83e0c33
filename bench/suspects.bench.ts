import type pg from 'pg';
import { textTable } from '../test/audit/text-table.js';
import { type Caller, callerOf } from '../test/e2e/caller.js';
import { type Installation, startInstallation } from '../test/support/installation.js';
import { until } from '../test/support/until.js';
import { say } from './compare.js';

const WORKERS = ['worker-1', 'worker-2'] as const;

/** ISOLATED_STAGES of both workers. */
const PLACES = 8;

/** All suspects run at once, in one round of places. */
const INNOCENT = { items: PLACES, stageMs: 40_000 };
const BESIDE_POISON = { items: 50, stageMs: 20_000 };
/** Three rounds of places. */
const IN_ROUNDS = { items: 3 * PLACES, stageMs: 20_000 };

/** Of the time that the suspects would need if their processes started at once and no place were ever empty. */
const GOAL = 1.5;
/** The two deaths and the attempt that ends. */
const MOST_ATTEMPTS = 3;

/** A part that takes longer has failed. */
const WITHIN_MS = 600_000;

/** Items whose stages were running at two deaths of their workers: how long they take in processes of their own, and who is blamed. A
 *  whole installation does it, with two workers that are killed and started again. */
export async function benchmark(): Promise<boolean> {
  const installation = await startInstallation();
  try {
    const admin = await callerOf(installation, 'root', ['admin']);
    const bench: Bench = { installation, admin, pool: installation.pool };
    const innocent = await measureInnocent(bench);
    const poison = await measurePoison(bench);
    const rounds = await measureRounds(bench);
    const rows = [innocent, poison, rounds].map(({ name, seconds, allowed, suspects, most, faults }) => [
      ...[name, String(suspects), seconds.toFixed(1), allowed.toFixed(1), String(most)],
      faults.length === 0 ? 'none' : faults.join('; '),
    ]);
    const head = ['part', 'suspects', 'seconds', 'allowed', 'most attempts', 'faults'];
    for (const line of textTable(head, rows)) say(line);
    const parts = [innocent, poison, rounds];
    const met = parts.every(({ seconds, allowed, faults }) => seconds <= allowed && faults.length === 0);
    say(JSON.stringify({ benchmark: 'suspects', met, places: PLACES, parts }));
    return met;
  } finally {
    await installation.stop();
  }
}

interface Bench {
  installation: Installation;
  admin: Caller;
  pool: pg.Pool;
}

interface Part {
  name: string;
  /** Tasks that were running at two deaths of their workers. */
  suspects: number;
  seconds: number;
  allowed: number;
  /** The most attempts that an innocent stage needed. */
  most: number;
  faults: string[];
}

/** Eight items in flight, and all workers killed twice. The time is that of the whole, and the ideal is that of eight items alone. */
async function measureInnocent(bench: Bench): Promise<Part> {
  const idealFrom = performance.now();
  await allDone(bench, await submitAll(bench, INNOCENT));
  const ideal = (performance.now() - idealFrom) / 1_000;
  const from = performance.now();
  const ids = await submitAll(bench, INNOCENT);
  await killAllTwice(bench, ids);
  await allDone(bench, ids);
  const seconds = (performance.now() - from) / 1_000;
  const name = `${INNOCENT.items} innocent items of ${INNOCENT.stageMs / 1_000} s, ${ideal.toFixed(1)} s undisturbed`;
  return { name, seconds, allowed: GOAL * ideal, ...(await judge(bench.pool, ids)) };
}

/** More suspects than places. */
async function measureRounds(bench: Bench): Promise<Part> {
  const ids = await submitAll(bench, IN_ROUNDS);
  const from = await killAllTwice(bench, ids);
  await allDone(bench, ids);
  const judged = await judge(bench.pool, ids);
  const seconds = await secondsToLastSuspect(bench.pool, ids, from);
  const name = `${IN_ROUNDS.items} innocent items of ${IN_ROUNDS.stageMs / 1_000} s`;
  return { name, seconds, allowed: allowedOf(judged.suspects, IN_ROUNDS.stageMs), ...judged };
}

/** An item that kills its worker twice, and then each process of its own, while the others are in flight. */
async function measurePoison(bench: Bench): Promise<Part> {
  const ids = await submitAll(bench, BESIDE_POISON);
  await allRun(bench.pool, ids);
  const faults = [1, 2, 3, 4, 5].map((attempt) => ({ stage: 'second', kind: 'kill', attempt }));
  const poison = await bench.admin.submit({ stageMs: [0, BESIDE_POISON.stageMs, 0], faults });
  await bench.admin.reaches(poison, 'FAILED', WITHIN_MS);
  await allDone(bench, ids);
  const judged = await judge(bench.pool, ids);
  const from = await secondDeathOf(bench.pool, poison);
  const { rows } = await bench.pool.query<{ reason: string; deaths: number }>(
    `SELECT end_reason AS reason, (SELECT count(*)::int FROM attempts WHERE item_id = $1 AND own_death) AS deaths
     FROM items WHERE id = $1`,
    [poison],
  );
  const [end] = rows;
  const isRight = end?.reason === 'POISON' && end.deaths === 3;
  const suspects = judged.suspects + 1;
  return {
    name: `${BESIDE_POISON.items} innocent items of ${BESIDE_POISON.stageMs / 1_000} s and a poison item`,
    seconds: await secondsToLastSuspect(bench.pool, ids, from),
    allowed: allowedOf(suspects, BESIDE_POISON.stageMs),
    most: judged.most,
    suspects,
    faults: isRight ? judged.faults : [...judged.faults, `the poison item ended as ${JSON.stringify(end)}`],
  };
}

function allowedOf(suspects: number, stageMs: number): number {
  return (GOAL * Math.ceil(suspects / PLACES) * stageMs) / 1_000;
}

async function submitAll({ admin }: Bench, { items, stageMs }: { items: number; stageMs: number }): Promise<string[]> {
  return Promise.all(Array.from({ length: items }, () => admin.submit({ stageMs: [0, stageMs, 0] })));
}

/** The time of the second kill, by the database's clock. */
async function killAllTwice({ installation, pool }: Bench, ids: string[]): Promise<Date> {
  let at = new Date(NaN);
  for (let deaths = 0; deaths < 2; deaths += 1) {
    await allRun(pool, ids);
    const { rows } = await pool.query<{ now: Date }>('SELECT now()');
    at = rows[0]?.now ?? at;
    const pids = await Promise.all(WORKERS.map((worker) => installation.kill(worker)));
    await Promise.all(WORKERS.map((worker, n) => installation.backFrom(worker, pids[n] ?? 0)));
  }
  return at;
}

/** Comes back when each item's second stage runs in a worker that lives. */
async function allRun(pool: pg.Pool, ids: string[]): Promise<void> {
  const look = async () => {
    const { rows } = await pool.query<{ count: number }>(
      `SELECT count(*)::int FROM tasks t JOIN workers w ON w.id = t.worker
       WHERE t.item_id = ANY ($1) AND t.stage = 'second' AND t.status = 'running' AND COALESCE(w.seen_gone_at, w.died_at) IS NULL`,
      [ids],
    );
    return rows[0]?.count === ids.length;
  };
  await until(`${ids.length} items run`, look, WITHIN_MS);
}

async function allDone({ pool }: Bench, ids: string[]): Promise<void> {
  const look = async () => {
    const { rows } = await pool.query<{ count: number }>(
      'SELECT count(*)::int FROM items WHERE id = ANY ($1) AND ended_at IS NULL',
      [ids],
    );
    return rows[0]?.count === 0;
  };
  await until(`${ids.length} items have ended`, look, WITHIN_MS);
}

/** The attempt that killed a worker for the second time began a moment before it did. */
async function secondDeathOf(pool: pg.Pool, poison: string): Promise<Date> {
  const { rows } = await pool.query<{ at: Date }>(
    `SELECT started_at AS at FROM attempts WHERE item_id = $1 AND stage = 'second' AND attempt = 2`,
    [poison],
  );
  return rows[0]?.at ?? new Date(NaN);
}

/** From the second death to the last commit of a stage that ran in a process of its own. */
async function secondsToLastSuspect(pool: pg.Pool, ids: string[], from: Date): Promise<number> {
  const { rows } = await pool.query<{ seconds: number }>(
    `SELECT COALESCE(extract(epoch FROM max(ended_at) - $2::timestamptz), 0)::float8 AS seconds FROM attempts
     WHERE item_id = ANY ($1) AND isolated`,
    [ids, from],
  );
  return rows[0]?.seconds ?? NaN;
}

/** What the database says of items that did nothing wrong. */
async function judge(pool: pg.Pool, ids: string[]): Promise<Pick<Part, 'suspects' | 'most' | 'faults'>> {
  const { rows } = await pool.query<Record<'suspects' | 'most' | 'failed' | 'blamed' | 'effects' | 'rescued', number>>(
    `SELECT count(*) FILTER (WHERE deaths >= 2)::int AS suspects, max(t.attempt)::int AS most,
       count(*) FILTER (WHERE i.state <> 'DONE')::int AS failed, count(*) FILTER (WHERE t.own_deaths > 0)::int AS blamed,
       count(*) FILTER (WHERE i.rescues > 0 OR i.epoch > 1)::int AS rescued,
       (SELECT count(*)::int FROM canary_effects WHERE item_id = ANY ($1)) AS effects
     FROM items i JOIN tasks t ON t.item_id = i.id AND t.stage = 'second'
     CROSS JOIN LATERAL (SELECT count(*) AS deaths FROM attempts a
       WHERE a.item_id = i.id AND a.stage = 'second' AND a.result = 'crash' AND NOT a.isolated) died
     WHERE i.id = ANY ($1)`,
    [ids],
  );
  const [seen] = rows;
  if (!seen) throw new Error('an aggregate has one row');
  const faults = [
    ...(seen.failed > 0 ? [`${seen.failed} failed`] : []),
    ...(seen.blamed > 0 ? [`${seen.blamed} blamed`] : []),
    ...(seen.rescued > 0 ? [`${seen.rescued} rescued`] : []),
    ...(seen.effects === 3 * ids.length ? [] : [`${seen.effects} effects of ${3 * ids.length}`]),
    ...(seen.most > MOST_ATTEMPTS ? [`a stage ran ${seen.most} times`] : []),
  ];
  return { suspects: seen.suspects, most: seen.most, faults };
}
