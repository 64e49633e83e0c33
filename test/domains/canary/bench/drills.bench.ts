import { say } from '../../../../bench/compare.js';
import type { Stops } from '../../../../bench/server.js';
import type { RoundVerdict } from '../../../../src/domains/canary/start/drill/verdict.js';
import { type DrillSide, startDrillSide } from './drill-side.js';
import { drillTable, figuresOf, KINDS, type SideName } from './drills-report.js';

/** Drills of each kind on each side. The times of twenty overlap too little for chance to reverse the order of two medians. */
const REPEATS = Number(process.env['BENCH_REPEATS'] ?? 20);

/** The default of the server. */
const SERVER_SHIFT_MS = 1_000;

/** Six drills take about a minute on two busy cores, and the two installations some minutes to start. Twice that means that a drill hangs. */
const START_LIMIT_MS = 300_000;
const REPEAT_LIMIT_MS = 120_000;

/** Fire drills on two installations in turn: one whose Temporal server has the setting for short timers, and one without it. */
export async function benchmark(): Promise<boolean> {
  const stops: Stops = [];
  const signal = AbortSignal.timeout(START_LIMIT_MS + REPEATS * REPEAT_LIMIT_MS);
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  const stopOnSignal = (): void => void stopAll().finally(() => process.exit(1));
  process.once('SIGINT', stopOnSignal).once('SIGTERM', stopOnSignal);
  try {
    const without = await startDrillSide(stops, signal, SERVER_SHIFT_MS);
    return await measure({ with: await startDrillSide(stops, signal), without });
  } finally {
    await stopAll();
    process.off('SIGINT', stopOnSignal).off('SIGTERM', stopOnSignal);
  }
}

async function measure(sides: Record<SideName, DrillSide>): Promise<boolean> {
  const drills: Record<SideName, RoundVerdict[]> = { with: [], without: [] };
  const order = ['with', 'without'] as const;
  for (let repeat = 1; repeat <= REPEATS; repeat += 1) {
    for (const kind of KINDS) {
      for (const side of repeat % 2 === 0 ? order : order.toReversed())
        drills[side].push(await sides[side].drill(kind));
    }
    const times = figuresOf(drills).map(
      ({ kind, times }) => `${kind} ${times.with.at(-1)} and ${times.without.at(-1)} ms`,
    );
    say(`${repeat} of ${REPEATS}, with and without: ${times.join(', ')}`);
  }
  const figures = figuresOf(drills);
  const problems = Object.values(drills).flatMap((each) => each.flatMap((drill) => drill.problems));
  for (const line of [...drillTable(figures), ...problems]) say(line);
  const met = problems.length === 0 && figures.every((each) => each.met);
  say(JSON.stringify({ benchmark: 'drills', met, repeats: REPEATS, figures, problems }));
  return met;
}
