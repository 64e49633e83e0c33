import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { BreakerSettings } from '../src/core/breaker.js';
import type { Pipeline } from '../src/core/pipeline.js';
import { createPool } from '../src/db/postgres/client.js';
import { claimTask } from '../src/db/spine/claim/claim.js';
import { commitAttempt } from '../src/db/spine/commit.js';
import { createItem } from '../src/db/spine/items.js';
import { canaryRow } from '../src/domains/canary/db/canaries.js';
import { canary } from '../src/domains/canary/table.js';
import { say } from './compare.js';
import { median } from './quantile.js';
import { type BenchServer, withServer } from './server.js';
import { openEmpty } from './sweep-data.js';

const ATTEMPTS = Number(process.env['BENCH_ATTEMPTS'] ?? 300_000);
const ROUNDS = Number(process.env['BENCH_REPEATS'] ?? 10);
const SLICE_MS = 4_000;
const LANES = 8;

/** One of so many commits fails, which is far too few to open a breaker. */
const FAILS_EVERY = 10;

/** The time between two claims of the other pipeline. */
const CLAIM_EVERY_MS = 20;

const COMMITS_GOAL = 0.8;
const CLAIMS_GOAL = 1.3;

/** The settings of an installation, with a window that lasts as long as the benchmark. */
const BREAKER: BreakerSettings = {
  ...{ share: 0.5, failures: 5, sample: 50, releasePerSecond: 1, releaseMaxPerSecond: 20 },
  window: '1h',
  probeAfter: '30s',
  probeMax: '10m',
};
const failing: Pipeline = { ...canary, breaker: BREAKER };
const other: Pipeline = { ...canary, name: 'other', breaker: BREAKER };

interface Slice {
  failingPerSecond: number;
  failingMs: number;
  claimMs: number;
}

/** Measures commits, of which one in ten fails, and meanwhile the claims of another pipeline. The breaker's window holds 300,000
 *  attempts, of which one in a hundred failed, or is empty, in turn. */
export async function benchmark(): Promise<boolean> {
  return withServer(measure);
}

async function measure({ url, stops }: BenchServer): Promise<boolean> {
  const pools = { full: await poolOf('filled'), empty: await poolOf('bare') };
  async function poolOf(name: string): Promise<pg.Pool> {
    const database = await openEmpty(url, name);
    const pool = createPool({ url: database, size: LANES + 2, name: 'bench' });
    stops.push(() => pool.end());
    return pool;
  }
  await pools.full.query(WINDOW, [failing.name, ATTEMPTS]);
  await pools.full.query('ANALYZE attempts');
  const slices = { full: [] as Slice[], empty: [] as Slice[] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const order = round % 2 === 0 ? (['full', 'empty'] as const) : (['empty', 'full'] as const);
    for (const kind of order) {
      if (kind === 'empty') await pools.empty.query('DELETE FROM attempts');
      const slice = await workFor(pools[kind], SLICE_MS);
      // The first round plans the statements.
      if (round > 0) slices[kind].push(slice);
    }
    say(`round ${round} of ${ROUNDS}: ${lineOf('full', slices.full.at(-1))}; ${lineOf('empty', slices.empty.at(-1))}`);
  }
  const ratio = (of: keyof Slice): number =>
    median(slices.full.map((each, at) => each[of] / (slices.empty[at]?.[of] ?? NaN)));
  const ratios = {
    failingPerSecond: ratio('failingPerSecond'),
    failingMs: ratio('failingMs'),
    claimMs: ratio('claimMs'),
  };
  const met = ratios.failingPerSecond >= COMMITS_GOAL && ratios.claimMs <= CLAIMS_GOAL;
  say(
    `${ATTEMPTS} attempts in the window: ${ratios.failingPerSecond.toFixed(2)} of the failing commits a second (goal: ` +
      `${COMMITS_GOAL} or more), another pipeline's median claim ${ratios.claimMs.toFixed(2)} times (goal: ${CLAIMS_GOAL} at most)`,
  );
  say(JSON.stringify({ benchmark: 'failures', met, attempts: ATTEMPTS, rounds: ROUNDS, ratios, slices }));
  return met;
}

/** Ended within the last five minutes. Attempts need no item here, because nobody asks for it. */
const WINDOW = `
  INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, worker, started_at, ended_at, result, error_class, error_message)
  SELECT gen_random_uuid(), $1, 1, 'first', 1, 1, 'worker-1', at, at, CASE WHEN failed THEN 'error' ELSE 'done' END,
    CASE WHEN failed THEN 'NETWORK_ERROR' END, CASE WHEN failed THEN 'the other side hung up' END
  FROM (
    SELECT now() - n * interval '5 minutes' / $2::int AS at, n % 100 = 0 AS failed FROM generate_series(1, $2::int) n) drawn`;

async function workFor(pool: pg.Pool, ms: number): Promise<Slice> {
  const until = performance.now() + ms;
  const failed: number[] = [];
  const claims: number[] = [];
  let count = 0;
  async function lane(): Promise<void> {
    while (performance.now() < until) {
      count += 1;
      const fails = count % FAILS_EVERY === 0;
      const claimed = await claimNew(pool, failing);
      const began = performance.now();
      await commitAttempt(pool, failing, claimed, fails ? FAILS : DONE);
      if (fails) failed.push(performance.now() - began);
    }
  }
  async function claimOthers(): Promise<void> {
    while (performance.now() < until) {
      await claimNew(pool, other, claims);
      await delay(CLAIM_EVERY_MS);
    }
  }
  await Promise.all([...Array.from({ length: LANES }, lane), claimOthers()]);
  return { failingPerSecond: (failed.length / ms) * 1_000, failingMs: median(failed), claimMs: median(claims) };
}

const DONE = { is: 'done', outcome: 'done' } as const;
const FAILS = {
  is: 'error',
  error: { class: 'NETWORK_ERROR', message: 'the other side hung up', stage: 'first' },
  retryInMs: 1_000,
} as const;

async function claimNew(pool: pg.Pool, pipeline: Pipeline, took?: number[]) {
  const actor = { id: 'bench', type: 'user' } as const;
  const row = canaryRow({ stageMs: [0, 0, 0], units: 0, decision: false, faults: [] });
  const { id: itemId } = await createItem(pool, pipeline, { owner: 'bench', actor, trigger: 'bench', row });
  const began = performance.now();
  const claim = await claimTask(pool, pipeline, {
    ...{ itemId, visit: 1, epoch: 1, state: 'FIRST', stage: 'first', unit: '', claimId: randomUUID() },
    ...{ token: Buffer.from('token'), scheduledAt: null, isRetried: false, worker: 'worker-1', places: 1 },
  });
  took?.push(performance.now() - began);
  if (claim.is !== 'run') throw new Error(`a claim was answered ${claim.is}`);
  return claim.claimed;
}

function lineOf(name: string, slice: Slice | undefined): string {
  if (!slice) return `${name}: warming up`;
  const { failingPerSecond, failingMs, claimMs } = slice;
  return `${name}: ${failingPerSecond.toFixed(1)} failing commits a second of ${failingMs.toFixed(1)} ms, claims ${claimMs.toFixed(1)} ms`;
}
