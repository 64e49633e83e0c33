import { median } from '../../../../bench/quantile.js';
import { textTable } from '../../../audit/text-table.js';
import type { RoundKind, RoundVerdict } from '../../../../src/domains/canary/start/drill/verdict.js';

export const KINDS = ['kill', 'freeze', 'freezeInCommit'] as const satisfies readonly RoundKind[];

export const SIDES = ['with', 'without'] as const;
export type SideName = (typeof SIDES)[number];

/** The drills of each side, in the order in which they were made. */
export type Drills = Readonly<Record<SideName, readonly RoundVerdict[]>>;

/** The median with the setting over the median without it. A frozen worker is seen by its missing beats, which take two seconds on both
 *  sides, so there the setting must only do no harm. */
const GOALS: Readonly<Record<RoundKind, number>> = { kill: 0.5, freeze: 1.1, freezeInCommit: 1.1 };

const TITLES: Readonly<Record<RoundKind, string>> = {
  kill: 'kill -9',
  freeze: 'frozen',
  freezeInCommit: 'frozen in its commit',
};

/** Milliseconds from the strike until the last item that it hit ran elsewhere. A drill that proved nothing has none. */
function elsewhereMsOf(drills: readonly RoundVerdict[]): number[] {
  return drills.flatMap(({ items }) => {
    const times = items.map(({ elsewhereAfterMs }) => elsewhereAfterMs).filter((ms) => ms !== null);
    return times.length > 0 ? [Math.max(...times)] : [];
  });
}

export function figuresOf(drills: Drills) {
  return KINDS.map((kind) => {
    const timesOf = (side: SideName): number[] => elsewhereMsOf(drills[side].filter((each) => each.kind === kind));
    const times = { with: timesOf('with'), without: timesOf('without') };
    const medians = { with: median(times.with), without: median(times.without) };
    const ratio = medians.with / medians.without;
    const goal = GOALS[kind];
    // A side without a time has no median, and its ratio is not a number: the goal is missed then.
    return {
      kind,
      medians,
      worst: { with: worstOf(times.with), without: worstOf(times.without) },
      ratio,
      goal,
      met: ratio <= goal,
      times,
    };
  });
}

export type DrillFigures = ReturnType<typeof figuresOf>;

function worstOf(times: readonly number[]): number | null {
  return times.length > 0 ? Math.max(...times) : null;
}

export function drillTable(figures: DrillFigures): string[] {
  const head = ['running elsewhere after', 'setting', 'drills', 'median', 'worst', 'with / without', 'goal'];
  const rows = figures.flatMap(({ kind, times, medians, worst, ratio, goal, met }) =>
    SIDES.map((side) => [
      side === 'with' ? TITLES[kind] : '',
      side,
      times[side].length,
      `${medians[side].toFixed(0)} ms`,
      `${worst[side] ?? '-'} ms`,
      ...(side === 'with' ? [ratio.toFixed(2), `${goal} at most: ${met ? 'met' : 'MISSED'}`] : []),
    ]),
  );
  return textTable(head, rows);
}
