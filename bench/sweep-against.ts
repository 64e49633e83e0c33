import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { projectRoot } from '../src/config.js';
import type { OlderBuild } from '../test/support/older-build.js';
import { against, type Measured, say, SIDES, type SideName, sidesIn } from './compare.js';
import { forkSide, giveSide, type SideProcess } from './older-side.js';
import { LIVE } from './sweep-data.js';
import type { Swept } from './sweep-report.js';
import { startBenchPostgres, type Stops } from './server.js';

const ITEMS = Number(process.env['BENCH_ITEMS'] ?? 1_000_000);
const ENTRY = 'sweep-child.ts';

/** A sweep over the same picture, in the older commit and in the present tree: one server, a database each, in turn. */
export function benchmarkAgainst(commit: string, repeats: number): Promise<boolean> {
  return against('sweep', commit, (older, stops) => measure(older, repeats, stops));
}

async function measure(older: OlderBuild, repeats: number, stops: Stops): Promise<Record<SideName, Measured>> {
  const folder = mkdtempSync(join(tmpdir(), 'unstuck-bench-'));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  const url = await startBenchPostgres(folder, stops);
  await onServer(url, 'CREATE EXTENSION pg_stat_statements');
  giveSide(older, ENTRY, ['sweep-side.ts']);

  async function open(side: SideName, root: string): Promise<SideProcess> {
    say(`loading ${ITEMS} items for the ${side} side`);
    const child = await forkSide(root, ENTRY, [url, `side_${side}`, String(ITEMS - LIVE)]);
    stops.push(child.stop);
    return child;
  }
  const sides = { old: await open('old', older.root), new: await open('new', projectRoot) };
  // Postgres writes the loaded pages now, and not while we measure.
  await onServer(url, 'CHECKPOINT');
  const measured: Record<SideName, Measured> = { old: {}, new: {} };
  for (const side of SIDES) await sides[side].ask({});
  for (let repeat = 1; repeat <= repeats; repeat += 1) {
    for (const side of sidesIn(repeat)) note(measured[side], await sides[side].ask<Swept>({}));
    say(`repeat ${repeat} of ${repeats}: ${SIDES.map((side) => `${side} ${lineOf(measured[side])}`).join('; ')}`);
  }
  return measured;
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

function note(measured: Measured, { ms, rows, scanned, buffers }: Swept): void {
  const rowsRead = Object.values(rows).reduce((sum, each) => sum + each, 0);
  const figures = { 'ms a sweep': ms, 'rows read': rowsRead, 'rows read without an index': scanned, pages: buffers };
  for (const [name, value] of Object.entries(figures)) (measured[name] ??= []).push(value);
}

function lineOf(measured: Measured): string {
  return `${(measured['ms a sweep']?.at(-1) ?? NaN).toFixed(1)} ms`;
}
