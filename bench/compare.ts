import { textTable } from '../test/audit/text-table.js';
import { buildOlder, type OlderBuild } from '../test/support/older-build.js';
import { median } from './quantile.js';

export const SIDES = ['old', 'new'] as const;
export type SideName = (typeof SIDES)[number];

/** What was measured, by the name of the figure: a value of each repeat. */
export type Measured = Record<string, number[]>;

type Stops = (() => Promise<void> | void)[];

/** Builds the commit, lets `measure` measure both sides, and ends what was started. A commit that can't be had is skipped. */
export async function against(
  benchmark: string,
  commit: string,
  measure: (older: OlderBuild, stops: Stops) => Promise<Record<SideName, Measured>>,
): Promise<boolean> {
  const older = await buildOlder(commit, say);
  if ('skipped' in older) {
    say(`skipped: ${older.skipped}`);
    say(JSON.stringify({ benchmark, against: commit, skipped: older.skipped }));
    return true;
  }
  const stops: Stops = [older.remove];
  try {
    const measured = await measure(older, stops);
    reportRatios(benchmark, older.commit, measured);
    return true;
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

/** The medians of each figure on both sides, and the present median by the older one. */
export function ratiosOf({ old, new: present }: Record<SideName, Measured>) {
  return Object.keys(present).map((figure) => {
    const [before, after] = [median(old[figure] ?? []), median(present[figure] ?? [])];
    // A figure that is zero on both sides did not change.
    return { figure, old: before, new: after, ratio: before === after ? 1 : after / before };
  });
}

function reportRatios(benchmark: string, commit: string, measured: Record<SideName, Measured>): void {
  const figures = ratiosOf(measured);
  const repeats = Math.max(...Object.values(measured.new).map((values) => values.length));
  const rows = figures.map(({ figure, old, new: present, ratio }) => [
    figure,
    ...[old, present, ratio].map((value) => value.toFixed(value < 10 ? 3 : 1)),
  ]);
  for (const line of textTable(['median of each figure', commit.slice(0, 7), 'present', 'present / older'], rows))
    say(line);
  say(JSON.stringify({ benchmark, against: commit, repeats, figures }));
}

/** The side that begins changes from one repeat to the next. */
export function sidesIn(repeat: number): readonly SideName[] {
  return repeat % 2 === 0 ? SIDES : SIDES.toReversed();
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
