import { secondsOf, type ItemVerdict, type Limits, type RoundKind, type RoundVerdict } from './verdict.js';

const TITLES: Readonly<Record<RoundKind, string>> = {
  kill: 'kill -9 of a worker',
  freeze: 'a worker frozen from outside, woken after its items were done',
  freezeInCommit: 'a worker frozen inside its committing transaction, woken after its items were done',
};

const COLUMNS: readonly { title: string; of(item: ItemVerdict): string }[] = [
  { title: 'item', of: ({ id }) => id },
  { title: 'hit', of: ({ isHit }) => (isHit ? 'yes' : 'no') },
  { title: 'seen', of: ({ seenAfterMs }) => spanOf(seenAfterMs) },
  { title: 'by', of: ({ seenBy }) => seenBy ?? '-' },
  { title: 'running elsewhere', of: ({ elsewhereAfterMs }) => spanOf(elsewhereAfterMs) },
  { title: 'done', of: ({ doneAfterMs, state }) => (doneAfterMs === null ? `no: ${state}` : spanOf(doneAfterMs)) },
  { title: 'stages run again', of: ({ runAgain }) => listOf(runAgain) },
  { title: 'effects twice', of: ({ doubled }) => listOf(doubled) },
  { title: 'commits refused', of: ({ refused }) => String(refused) },
];

/** A table for people, with one line an item. Times are counted from the strike. */
export function tableOf({ kind, worker, items, lockWaitMs }: RoundVerdict): string {
  const lines = [COLUMNS.map(({ title }) => title), ...items.map((item) => COLUMNS.map((column) => column.of(item)))];
  const widths = COLUMNS.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const rows = lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const waited = kind === 'kill' ? [] : [`longest wait for a lock: ${secondsOf(lockWaitMs)}`];
  return [`${TITLES[kind]}: ${worker.name}, pid ${worker.pid}`, ...rows, ...waited].join('\n');
}

export function closingOf(rounds: readonly RoundVerdict[], limits: Limits): string {
  const problems = rounds.flatMap((round) => round.problems);
  if (problems.length > 0) return `FAILED:\n${problems.map((problem) => `  ${problem}`).join('\n')}`;
  const slowest = largestOf(rounds, ({ elsewhereAfterMs }) => elsewhereAfterMs);
  return (
    'ok: nothing lost, nothing twice, nothing stuck; ' +
    `running elsewhere after ${spanOf(slowest)} at most (${secondsOf(limits.elsewhereMs)} allowed)`
  );
}

/** The figures, for scripts. */
export function drillFiguresOf(
  rounds: readonly RoundVerdict[],
  { items, stageMs }: { items: number; stageMs: number },
) {
  const problems = rounds.flatMap((round) => round.problems);
  return { ok: problems.length === 0, items, stageMs, rounds: rounds.map(roundFigures), problems };
}

function roundFigures(round: RoundVerdict) {
  const { kind, worker, items, lockWaitMs } = round;
  const sum = (of: (item: ItemVerdict) => number): number => items.reduce((total, item) => total + of(item), 0);
  return {
    kind,
    worker: worker.name,
    pid: worker.pid,
    hit: sum(({ isHit }) => (isHit ? 1 : 0)),
    seenAfterMs: largestOf([round], ({ seenAfterMs }) => seenAfterMs),
    seenBy: [...new Set(items.flatMap(({ seenBy }) => seenBy ?? []))],
    elsewhereAfterMs: largestOf([round], ({ elsewhereAfterMs }) => elsewhereAfterMs),
    doneAfterMs: largestOf([round], ({ doneAfterMs }) => doneAfterMs),
    stagesRunAgain: sum(({ runAgain }) => runAgain.length),
    finishedStagesRunAgain: sum(({ finishedRunAgain }) => finishedRunAgain.length),
    effectsDoubled: sum(({ doubled }) => doubled.length),
    effectsMissing: sum(({ missing }) => missing.length),
    notDone: sum(({ doneAfterMs }) => (doneAfterMs === null ? 1 : 0)),
    commitsRefused: sum(({ refused }) => refused),
    lockWaitMs,
    items,
  };
}

/** Null: the time is known of no item. */
function largestOf(rounds: readonly RoundVerdict[], of: (item: ItemVerdict) => number | null): number | null {
  const known = rounds.flatMap(({ items }) => items.map(of)).filter((ms) => ms !== null);
  return known.length > 0 ? Math.max(...known) : null;
}

function spanOf(ms: number | null): string {
  return ms === null ? '-' : secondsOf(ms);
}

function listOf(names: readonly string[]): string {
  return names.join(', ') || 'none';
}
