import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode } from '@temporalio/worker';
import { v7 as uuidv7 } from 'uuid';
import { findTemporalCli } from '../scripts/find-temporal-cli.mjs';
import { workflowIdOf } from '../src/core/run.js';
import type { Pipeline } from '../src/core/pipeline.js';
import { createPool } from '../src/db/postgres/client.js';
import { canaryRow } from '../src/domains/canary/db/canaries.js';
import { createItem } from '../src/db/spine/items.js';
import { migrate } from '../src/db/postgres/migrate.js';
import { startPostgres } from '../src/start/embedded/embedded-postgres.js';
import { startTemporal } from '../src/start/embedded/embedded-temporal.js';
import { freePort } from '../test/support/free-port.js';
import { createTemporalEngine } from '../src/temporal/engine.js';
import { cpuMsOf } from './cpu.js';
import { OVERHEAD_PIPELINES } from './overhead-pipelines.js';
import { median, quantile } from './quantile.js';

/** Many short repeats: a shared machine is a third faster or slower from one minute to the next, and only batches that run within
 *  seconds of each other can be compared. A multiple of six, so that each kind follows each other one as often. */
const REPEATS = Number(process.env['BENCH_REPEATS'] ?? 30);
const BATCH = 100;
const IN_FLIGHT = 50;
const ONE_AT_A_TIME = 9;
const WORKERS = 2;

const GOALS = { ordinaryThroughput: 0.9, ordinaryP50: 1.25, shortThroughput: 1.4 };

type Kind = 'bare' | 'ordinary' | 'short';
interface Figures {
  perSecond: number[];
  oneMs: number[];
  cpuMs: number[];
  /** Where the CPU time of each batch went, in ms per item. */
  parts: Record<string, number[]>;
}
type Pids = Readonly<Record<string, readonly number[]>>;

/** The canary against a bare Temporal workflow of three activities that insert one row each: same servers, same workers,
 *  same concurrency, interleaved. */
export async function overhead(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-'));
  const stops: (() => Promise<void> | void)[] = [
    () => {
      rmSync(folder, { recursive: true, force: true });
    },
  ];
  try {
    return await measure(folder, stops);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function measure(folder: string, stops: (() => Promise<void> | void)[]): Promise<boolean> {
  const log = () => undefined;
  const postgres = await startPostgres({ dataDir: folder, port: await freePort(), log });
  stops.push(postgres.stop);
  const dbFile = join(folder, 'temporal.db');
  const temporal = await startTemporal({ cliPath: findTemporalCli(), dbFile, port: await freePort(), log });
  stops.push(temporal.stop);
  await migrate(postgres.url, join(import.meta.dirname, '../prisma/migrations'));
  const pool = createPool({ url: postgres.url, size: 10, name: 'bench' });
  stops.push(() => pool.end());
  await pool.query(
    'CREATE TABLE bare_effects (id bigserial PRIMARY KEY, item_id uuid, stage text, at timestamptz DEFAULT now())',
  );

  const codePath = join(folder, 'bundle.js');
  writeFileSync(codePath, (await bundle()).code);
  const workerFile = compiledWorker();
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, async (_, n) => {
      const args = [postgres.url, temporal.address, codePath, `bench-${String(n + 1)}`];
      const worker = fork(workerFile, args, { execArgv: [] });
      await once(worker, 'message');
      return worker;
    }),
  );
  stops.push(() => {
    workers.forEach((worker) => {
      worker.disconnect();
    });
  });

  const connection = await Connection.connect({ address: temporal.address });
  stops.push(() => connection.close());
  const client = new Client({ connection });
  const engine = createTemporalEngine(client);

  // Waited for by its id, as ours is: a handle that knows its run spares the server a look.
  async function bareItem(): Promise<void> {
    const id = uuidv7();
    const workflowId = `bare:${id}`;
    await client.workflow.start('bare', { workflowId, taskQueue: 'bare', args: [id] });
    await client.workflow.getHandle(workflowId).result();
  }
  async function ourItem(pipeline: Pipeline): Promise<void> {
    const actor = { id: 'bench', type: 'user' } as const;
    const row = canaryRow({ stageMs: [0, 0, 0], units: 0, decision: false, faults: [] });
    const created = await createItem(pool, pipeline, { owner: 'bench', actor, trigger: 'bench', row });
    if (!created.created || !created.run) throw new Error('a new item wants a run');
    await engine.start(created.run);
    await client.workflow.getHandle(workflowIdOf(created.run)).result();
  }
  const [ordinary, short] = OVERHEAD_PIPELINES as [Pipeline, Pipeline];
  const items: Record<Kind, () => Promise<void>> = {
    bare: bareItem,
    ordinary: () => ourItem(ordinary),
    short: () => ourItem(short),
  };
  const pids: Pids = {
    postgres: [postgres.pid],
    temporal: [temporal.pid],
    workers: workers.map((worker) => worker.pid ?? 0),
  };
  const figures = await interleave(items, pids);
  await assertEffects(pool, REPEATS * (BATCH + ONE_AT_A_TIME) + WARM_UP);
  return report(figures);
}

/** As in production: compiled beforehand. A loader in the worker maps the stack of every promise that a workflow makes, which
 *  costs more than what is to be measured. */
function compiledWorker(): string {
  const root = join(import.meta.dirname, '..');
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(import.meta.dirname, 'tsconfig.json')], { stdio: 'inherit' });
  return join(root, 'node_modules/.cache/unstuck-bench/bench/overhead-worker.js');
}

/** A worker lives for days: its first seconds, of cold code and cold connections, are not what is asked about. */
const WARM_UP = 500;

/** All there are: Temporal goes on tidying up after a batch while the next one runs. */
const ORDERS: readonly (readonly Kind[])[] = [
  ['bare', 'ordinary', 'short'],
  ['short', 'ordinary', 'bare'],
  ['ordinary', 'short', 'bare'],
  ['bare', 'short', 'ordinary'],
  ['short', 'bare', 'ordinary'],
  ['ordinary', 'bare', 'short'],
];

async function interleave(items: Record<Kind, () => Promise<void>>, pids: Pids): Promise<Record<Kind, Figures>> {
  const kinds = Object.keys(items) as Kind[];
  const empty = (): Figures => ({ perSecond: [], oneMs: [], cpuMs: [], parts: {} });
  const figures: Record<Kind, Figures> = { bare: empty(), ordinary: empty(), short: empty() };
  for (const kind of kinds) await manyAtOnce(WARM_UP, items[kind]);
  for (let repeat = 1; repeat <= REPEATS; repeat += 1) {
    const order = ORDERS[repeat % ORDERS.length] ?? kinds;
    for (const kind of order) {
      const before = cpuOf(pids);
      const began = performance.now();
      await manyAtOnce(BATCH, items[kind]);
      figures[kind].perSecond.push(BATCH / ((performance.now() - began) / 1_000));
      const after = cpuOf(pids);
      const parts = Object.keys(after).map(
        (part) => [part, ((after[part] ?? 0) - (before[part] ?? 0)) / BATCH] as const,
      );
      figures[kind].cpuMs.push(parts.reduce((sum, [, ms]) => sum + ms, 0));
      for (const [part, ms] of parts) (figures[kind].parts[part] ??= []).push(ms);
    }
    // In turn: what disturbs the machine for a second meets all kinds alike.
    for (let n = 0; n < ONE_AT_A_TIME; n += 1) {
      for (const kind of order) {
        const began = performance.now();
        await items[kind]();
        figures[kind].oneMs.push(performance.now() - began);
      }
    }
    process.stdout.write(
      `repeat ${String(repeat)} of ${String(REPEATS)}: ${kinds.map((kind) => `${kind} ${(figures[kind].perSecond.at(-1) ?? 0).toFixed(1)}/s`).join(', ')}\n`,
    );
  }
  return figures;
}

/** The client of the benchmark counts too: a started item is part of the price. */
function cpuOf(pids: Pids): Record<string, number> {
  const { user, system } = process.cpuUsage();
  const servers = Object.entries(pids).map(([part, roots]) => [part, cpuMsOf(roots)] as const);
  return { ...Object.fromEntries(servers), client: (user + system) / 1_000 };
}

async function manyAtOnce(count: number, item: () => Promise<void>): Promise<void> {
  let left = count;
  async function lane(): Promise<void> {
    while (left > 0) {
      left -= 1;
      await item();
    }
  }
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, count) }, lane));
}

/** A benchmark of work that was lost or doubled would measure nothing. */
async function assertEffects(pool: ReturnType<typeof createPool>, perKind: number): Promise<void> {
  const { rows } = await pool.query<{ pipeline: string; items: number; effects: number }>(
    `SELECT pipeline, count(DISTINCT i.id)::int AS items, count(e.id)::int AS effects
     FROM items i LEFT JOIN canary_effects e ON e.item_id = i.id WHERE i.state = 'DONE' GROUP BY pipeline`,
  );
  if (rows.length !== OVERHEAD_PIPELINES.length) throw new Error(`only ${String(rows.length)} of our kinds were done`);
  for (const row of rows) {
    if (row.items !== perKind || row.effects !== 3 * perKind) {
      throw new Error(
        `${row.pipeline}: ${String(row.items)} items and ${String(row.effects)} effects instead of ${String(perKind)} and ${String(3 * perKind)}`,
      );
    }
  }
}

async function bundle() {
  return bundleWorkflowCode({
    workflowsPath: join(import.meta.dirname, 'overhead-workflows.ts'),
    webpackConfigHook: (config) => ({
      ...config,
      resolve: { ...config.resolve, extensionAlias: { '.js': ['.ts', '.js'] } },
    }),
  });
}

function report(figures: Record<Kind, Figures>): boolean {
  const rows = Object.entries(figures).map(([kind, each]) => ({
    kind,
    'items/s': median(each.perSecond),
    'p50 ms': median(each.oneMs),
    'p95 ms': quantile(each.oneMs, 0.95),
    'CPU ms/item': median(each.cpuMs),
    ...Object.fromEntries(Object.entries(each.parts).map(([part, ms]) => [`of it ${part}`, median(ms)])),
  }));
  const [bare, ordinary, short] = rows;
  if (!bare || !ordinary || !short) throw new Error('a kind was not measured');
  // Ratios are taken within a repeat: what disturbs the machine for a minute disturbs all kinds of that repeat.
  const ratio = (kind: Kind) =>
    median(figures[kind].perSecond.map((each, at) => each / (figures.bare.perSecond[at] ?? NaN)));
  const ratios = {
    ordinaryThroughput: ratio('ordinary'),
    ordinaryP50: ordinary['p50 ms'] / bare['p50 ms'],
    shortThroughput: ratio('short'),
    shortP50: short['p50 ms'] / bare['p50 ms'],
    ordinaryCpu: ordinary['CPU ms/item'] / bare['CPU ms/item'],
    shortCpu: short['CPU ms/item'] / bare['CPU ms/item'],
  };
  const met =
    ratios.ordinaryThroughput >= GOALS.ordinaryThroughput &&
    ratios.ordinaryP50 <= GOALS.ordinaryP50 &&
    ratios.shortThroughput >= GOALS.shortThroughput;
  const fixed = (value: number) => value.toFixed(value < 10 ? 2 : 1);
  for (const row of rows) {
    process.stdout.write(
      `${Object.entries(row)
        .map(([name, value]) => (typeof value === 'number' ? `${name} ${fixed(value)}` : value.padEnd(9)))
        .join('  ')}\n`,
    );
  }
  process.stdout.write(
    `${Object.entries(ratios)
      .map(([name, value]) => `${name} ${fixed(value)}`)
      .join('  ')}\n`,
  );
  process.stdout.write(`${JSON.stringify({ benchmark: 'overhead', met, goals: GOALS, ratios, rows })}\n`);
  return met;
}
