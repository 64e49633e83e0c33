import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { findTemporalCli } from '../scripts/find-temporal-cli.mjs';
import { projectRoot } from '../src/config.js';
import { startPostgres } from '../src/start/embedded/embedded-postgres.js';
import { startTemporal } from '../src/start/embedded/embedded-temporal.js';
import { freePort } from '../test/support/free-port.js';
import type { OlderBuild } from '../test/support/older-build.js';
import { addNamespace } from './add-namespace.js';
import { against, type Measured, say, SIDES, type SideName, sidesIn } from './compare.js';
import { cpuMsOf } from './cpu.js';
import { forkSide, giveSide, type SideProcess } from './older-side.js';
import { BATCH, ONE_AT_A_TIME, ORDERS } from './overhead-plan.js';
import type { AskedOfOverhead } from './overhead-child.js';
import { type Kind, WARM_UP } from './overhead-side.js';
import { median } from './quantile.js';

type Stops = (() => Promise<void> | void)[];

const ENTRY = 'overhead-child.ts';
const KINDS: readonly Kind[] = ['bare', 'ordinary', 'short'];

/** What an item costs, in the older commit and in the present tree: same servers, each side with its own database, namespace and
 *  workers, batch by batch in turn. */
export function benchmarkAgainst(commit: string, repeats: number): Promise<boolean> {
  return against('overhead', commit, (older, stops) => measure(older, repeats, stops));
}

async function measure(older: OlderBuild, repeats: number, stops: Stops): Promise<Record<SideName, Measured>> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-'));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  const log = () => undefined;
  const postgres = await startPostgres({ dataDir: folder, port: await freePort(), log });
  stops.push(postgres.stop);
  const files = { cliPath: findTemporalCli(), dbFile: join(folder, 'temporal.db') };
  const temporal = await startTemporal({ ...files, port: await freePort(), log });
  stops.push(temporal.stop);
  await addNamespace(temporal.address, 'older');
  giveSide(older, ENTRY, ['overhead-side.ts', 'overhead-worker.ts']);

  async function open(side: SideName, root: string, namespace: string): Promise<SideProcess> {
    say(`starting the workers of the ${side} side`);
    const url = await createDatabase(postgres.url, side);
    const own = join(folder, side);
    mkdirSync(own);
    const child = await forkSide(root, ENTRY, [url, temporal.address, namespace, own]);
    stops.push(child.stop);
    return child;
  }
  const sides = {
    old: await open('old', older.root, 'older'),
    new: await open('new', projectRoot, 'default'),
  };
  const servers = [postgres.pid, temporal.pid];
  for (const side of SIDES) for (const kind of KINDS) await ask(sides[side], { kind, count: WARM_UP });
  const measured: Record<SideName, Measured> = { old: {}, new: {} };
  for (let repeat = 1; repeat <= repeats; repeat += 1) {
    const order = ORDERS[repeat % ORDERS.length] ?? KINDS;
    for (const kind of order) {
      for (const side of sidesIn(repeat)) note(measured[side], kind, await batch(sides[side], servers, kind));
    }
    for (const kind of order) {
      for (const side of sidesIn(repeat)) note(measured[side], kind, await oneByOne(sides[side], kind));
    }
    for (const side of SIDES) noteAgainstBare(measured[side]);
    say(`repeat ${repeat} of ${repeats}: ${SIDES.map((side) => `${side} ${lineOf(measured[side])}`).join('; ')}`);
  }
  for (const side of SIDES) {
    await ask(sides[side], { perKind: repeats * (BATCH + ONE_AT_A_TIME) + WARM_UP });
  }
  return measured;
}

async function createDatabase(serverUrl: string, name: SideName): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`CREATE DATABASE side_${name}`).finally(() => client.end());
  const url = new URL(serverUrl);
  url.pathname = `/side_${name}`;
  return url.href;
}

async function ask(side: SideProcess, asked: AskedOfOverhead): Promise<number> {
  return (await side.ask<{ ms: number }>(asked)).ms;
}

/** One batch of items. The CPU time is the servers' and that of the side's client and workers. */
async function batch(side: SideProcess, servers: readonly number[], kind: Kind): Promise<Record<string, number>> {
  const roots = [...servers, side.pid];
  const before = cpuMsOf(roots);
  const ms = await ask(side, { kind, count: BATCH });
  return { 'items/s': BATCH / (ms / 1_000), 'CPU ms/item': (cpuMsOf(roots) - before) / BATCH };
}

async function oneByOne(side: SideProcess, kind: Kind): Promise<Record<string, number>> {
  const took: number[] = [];
  for (let n = 0; n < ONE_AT_A_TIME; n += 1) took.push(await ask(side, { kind, count: 1 }));
  return { 'p50 ms': median(took) };
}

function note(measured: Measured, kind: Kind, figures: Record<string, number>): void {
  for (const [name, value] of Object.entries(figures)) (measured[`${kind} ${name}`] ??= []).push(value);
}

/** The price against bare Temporal, within a repeat: what disturbs the machine for a minute disturbs both kinds of it. */
function noteAgainstBare(measured: Measured): void {
  for (const kind of ['ordinary', 'short'] as const) {
    for (const figure of ['items/s', 'CPU ms/item', 'p50 ms']) {
      const [own, bare] = [measured[`${kind} ${figure}`]?.at(-1), measured[`bare ${figure}`]?.at(-1)];
      (measured[`${kind} / bare, ${figure}`] ??= []).push((own ?? NaN) / (bare ?? NaN));
    }
  }
}

function lineOf(measured: Measured): string {
  return KINDS.map((kind) => `${kind} ${(measured[`${kind} items/s`]?.at(-1) ?? NaN).toFixed(1)}/s`).join(', ');
}
