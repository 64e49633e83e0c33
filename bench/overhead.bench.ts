import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporalCli } from '../scripts/find-temporal-cli.mjs';
import { startPostgres } from '../src/start/embedded/embedded-postgres.js';
import { startTemporal } from '../src/start/embedded/embedded-temporal.js';
import { freePort } from '../test/support/free-port.js';
import { cpuMsOf } from './cpu.js';
import { BATCH, ONE_AT_A_TIME, ORDERS } from './overhead-plan.js';
import { type Kind, manyAtOnce, openSide, WARM_UP } from './overhead-side.js';
import { median, quantile } from './quantile.js';

export { benchmarkAgainst } from './overhead-against.js';

/** Many short repeats: a shared machine is a third faster or slower from one minute to the next, and only batches that run within
 *  seconds of each other can be compared. A multiple of six, so that each kind follows each other one as often. */
const REPEATS = Number(process.env['BENCH_REPEATS'] ?? 30);

const GOALS = { ordinaryThroughput: 0.9, ordinaryP50: 1.25, shortThroughput: 1.4 };

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
export async function benchmark(): Promise<boolean> {
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
  const side = await openSide({ databaseUrl: postgres.url, address: temporal.address, folder, stops });
  const pids: Pids = {
    postgres: [postgres.pid],
    temporal: [temporal.pid],
    workers: side.workerPids,
  };
  const figures = await interleave(side.items, pids);
  await side.assertEffects(REPEATS * (BATCH + ONE_AT_A_TIME) + WARM_UP);
  return report(figures);
}

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
