import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type pg from 'pg';
import { claimTask } from '../src/db/spine/claim/claim.js';
import { canaryRow } from '../src/domains/canary/db/canaries.js';
import { createPool } from '../src/db/postgres/client.js';
import { commitAttempt } from '../src/db/spine/commit.js';
import { createItem } from '../src/db/spine/items.js';
import { quantile } from './quantile.js';
import { sweptCanary } from './sweep-once.js';

const WRITERS = 8;
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 6);
export const SLICE_MS = 5_000;

const STAGES = [
  { state: 'FIRST', stage: 'first' },
  { state: 'SECOND', stage: 'second' },
  { state: 'THIRD', stage: 'third' },
];

export interface Slice {
  p50: number;
  p99: number;
  stages: number;
  sweeps: number;
}
export type Sliced = Record<'alone' | 'beside', Slice[]>;

/** Claims and commits on eight connections, a few seconds with sweeps back to back beside them, a few without, in turn. The
 *  sweeps are another process's, as they are in production. */
export async function writersBesideSweeps(url: string): Promise<Sliced> {
  const pool = createPool({ url, size: WRITERS, name: 'writers' });
  const sweeper = fork(join(import.meta.dirname, 'sweep-beside.ts'), [url]);
  try {
    await answerOf(sweeper);
    await writeFor(pool, 1_000);
    const slices: Sliced = { alone: [], beside: [] };
    for (let round = 1; round <= ROUNDS; round += 1) {
      const order = round % 2 === 0 ? (['alone', 'beside'] as const) : (['beside', 'alone'] as const);
      for (const kind of order) slices[kind].push(await slice(pool, kind === 'beside' ? sweeper : null));
      process.stdout.write(`round ${String(round)} of ${String(ROUNDS)}: ${sliceLine(slices)}\n`);
    }
    return slices;
  } finally {
    if (sweeper.connected) sweeper.disconnect();
    await pool.end();
  }
}

function sliceLine({ alone, beside }: Sliced): string {
  const [without, with_] = [alone.at(-1), beside.at(-1)];
  return `p99 ${(without?.p99 ?? NaN).toFixed(1)} ms alone, ${(with_?.p99 ?? NaN).toFixed(1)} ms beside ${String(with_?.sweeps)} sweeps`;
}

async function slice(pool: pg.Pool, sweeper: ChildProcess | null): Promise<Slice> {
  sweeper?.send('sweep');
  const took = await writeFor(pool, SLICE_MS);
  const sweeps = sweeper ? await sweepsOf(sweeper) : 0;
  return { p50: quantile(took, 0.5), p99: quantile(took, 0.99), stages: took.length, sweeps };
}

async function sweepsOf(sweeper: ChildProcess): Promise<number> {
  const told = answerOf(sweeper);
  sweeper.send('stop');
  const sweeps = Number(await told);
  if (!(sweeps > 0)) throw new Error('no sweep ran beside the writers');
  return sweeps;
}

/** Its next message; a process that has ended will send none. */
async function answerOf(sweeper: ChildProcess): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(sweeper, 'exit', { signal }).then(([code]) => {
    throw new Error(`the sweeping process ended with ${String(code)}`);
  });
  try {
    const [answer] = (await Promise.race([once(sweeper, 'message', { signal }), ended])) as [unknown];
    return answer;
  } finally {
    ended.catch(() => undefined);
    over.abort();
  }
}

/** Milliseconds of each stage: claimed and committed. */
async function writeFor(pool: pg.Pool, ms: number): Promise<number[]> {
  const until = performance.now() + ms;
  const took: number[] = [];
  async function lane(): Promise<void> {
    while (performance.now() < until) await walkOne(pool, took);
  }
  await Promise.all(Array.from({ length: WRITERS }, lane));
  return took;
}

async function walkOne(pool: pg.Pool, took: number[]): Promise<void> {
  const actor = { id: 'bench', type: 'user' } as const;
  const row = canaryRow({ stageMs: [0, 0, 0], units: 0, decision: false, faults: [] });
  const { id: itemId } = await createItem(pool, sweptCanary, { owner: 'bench', actor, trigger: 'bench', row });
  for (const where of STAGES) {
    const began = performance.now();
    await walkStage(pool, { itemId, ...where });
    took.push(performance.now() - began);
  }
}

async function walkStage(pool: pg.Pool, where: { itemId: string; state: string; stage: string }): Promise<void> {
  const claim = await claimTask(pool, sweptCanary, {
    ...where,
    ...{ visit: 1, epoch: 1, unit: '', claimId: randomUUID(), token: Buffer.from('token'), scheduledAt: null },
    ...{ isRetried: false, worker: 'worker-1', places: 1 },
  });
  if (claim.is !== 'run') throw new Error(`a claim was answered ${claim.is}`);
  const save = {
    text: `INSERT INTO canary_effects (item_id, visit, stage, unit, attempt)
      SELECT item_id, visit, stage, unit, attempt FROM guard`,
    values: [],
  };
  const committed = await commitAttempt(pool, sweptCanary, claim.claimed, { is: 'done', outcome: 'done', save });
  if (committed === 'superseded') throw new Error('a commit was refused: superseded');
}
