import { median } from './quantile.js';
import { LIVE, type Scene, STUCK } from './sweep-data.js';
import type { Reads } from './sweep-reads.js';
import { SLICE_MS, type Sliced } from './sweep-writers.js';

/** What a sweep may cost with ten times as many finished items, in time, rows and pages. */
const GOAL = 1.3;

export interface Swept extends Reads {
  ms: number;
}
export type SweptScenes = Record<'many' | 'few', Swept[]>;

/** Says what was measured, and whether the goal was met. */
export function report(figures: SweptScenes, slices: Sliced, scenes: Record<'many' | 'few', Scene>): boolean {
  const rows = (['many', 'few'] as const).map((kind) => ({
    finished: scenes[kind].finished,
    live: LIVE,
    stuck: STUCK,
    ms: median(figures[kind].map((each) => each.ms)),
    rowsRead: median(figures[kind].map(rowsRead)),
    rowsScanned: median(figures[kind].map((each) => each.scanned)),
    buffers: median(figures[kind].map((each) => each.buffers)),
    rowsByTable: figures[kind].at(-1)?.rows,
  }));
  // Ratios are taken within a repeat: what disturbs the machine for a second disturbs both.
  const ratio = (of: (each: Swept) => number) =>
    median(figures.many.map((each, at) => of(each) / of(figures.few[at] ?? each)));
  const ratios = { time: ratio((each) => each.ms), rows: ratio(rowsRead), buffers: ratio((each) => each.buffers) };
  const met = Object.values(ratios).every((each) => each < GOAL);
  const writers = writersOf(slices);
  say('engine: answered from memory, so that times are those of the database and of our code');
  for (const row of rows) {
    say(
      `${String(row.finished).padStart(8)} finished  ${row.ms.toFixed(1)} ms a sweep  ${String(row.rowsRead)} rows read, ` +
        `${String(row.rowsScanned)} of them without an index  ${String(row.buffers)} pages  ${JSON.stringify(row.rowsByTable)}`,
    );
  }
  say(`ten times as many finished: ${line(ratios)} (goal: below ${String(GOAL)})`);
  say(
    `claim and commit, p99: ${writers.aloneP99.toFixed(1)} ms alone, ${writers.besideP99.toFixed(1)} ms beside ` +
      `${writers.sweepsPerSecond.toFixed(1)} sweeps a second, ratio ${writers.p99Ratio.toFixed(2)} (p50 ${writers.p50Ratio.toFixed(2)})`,
  );
  say(JSON.stringify({ benchmark: 'sweep', met, goal: GOAL, ratios, rows, writers, repeats: figures.many.length }));
  return met;
}

function writersOf({ alone, beside }: Sliced) {
  const ratio = (of: 'p50' | 'p99') => median(beside.map((each, at) => each[of] / (alone[at]?.[of] ?? NaN)));
  return {
    aloneP99: median(alone.map((each) => each.p99)),
    besideP99: median(beside.map((each) => each.p99)),
    p99Ratio: ratio('p99'),
    p50Ratio: ratio('p50'),
    sweepsPerSecond: median(beside.map((each) => (each.sweeps / SLICE_MS) * 1_000)),
    stagesPerSlice: median([...alone, ...beside].map((each) => each.stages)),
  };
}

function rowsRead({ rows }: Swept): number {
  return Object.values(rows).reduce((sum, each) => sum + each, 0);
}

function line(figures: Record<string, number>): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${value.toFixed(2)}`)
    .join('  ');
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
