import { intervalMsOf, type ScheduleRow } from './schedules.js';

export interface LateSweep {
  id: string;
  pipeline: string;
  /** Since its last one ended, or since somebody has been watching for the first. */
  silentMs: number;
  /** Names the occasion: the end of the last one, or `never`. */
  since: string;
  sentence: string;
}

interface SweepAge {
  job: string;
  lastEndedAt: Date | null;
  ageMs: number | null;
}

/** One may be missed: a sweep that fails is made up for by the next. Two in a row mean that nobody sweeps. */
const INTERVALS = 2;

/** Which sweeps are older than two of their intervals. Whoever watches for `watchedMs` only can't call one later than that:
 *  after a start, the first is not due yet. */
export function lateSweeps(rows: readonly ScheduleRow[], ages: readonly SweepAge[], watchedMs: number): LateSweep[] {
  return rows.flatMap((row) => {
    if (!row.isOn || row.sweeps === null) return [];
    const age = ages.find(({ job }) => job === row.id);
    const silentMs = Math.min(age?.ageMs ?? Infinity, watchedMs);
    const everyMs = intervalMsOf(row.when);
    if (silentMs <= INTERVALS * everyMs) return [];
    const since = age?.lastEndedAt?.toISOString() ?? 'never';
    return [{ id: row.id, pipeline: row.sweeps, silentMs, since, sentence: sentenceOf(row.id, everyMs, age) }];
  });
}

function sentenceOf(id: string, everyMs: number, age: SweepAge | undefined): string {
  const due = `it is due every ${seconds(everyMs)}`;
  if (age?.ageMs == null) return `${id} has never got to its end; ${due}.`;
  return `${id} last got to its end ${seconds(age.ageMs)} ago; ${due}.`;
}

function seconds(ms: number): string {
  return `${String(Math.round(ms / 1_000))} s`;
}
