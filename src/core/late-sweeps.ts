import { intervalMsOf, type ScheduleRow } from './schedules.js';

export interface LateSweep {
  id: string;
  pipeline: string;
  /** The time since the last sweep ended; if none ever did, since the watch began. */
  silentMs: number;
  /** Names the occasion: the end of the last sweep, or `never`. */
  since: string;
  sentence: string;
}

/** How old the last sweep of one schedule is. */
export interface SweepAge {
  job: string;
  /** When the last complete sweep ended; null: no sweep ever has. */
  lastEndedAt: Date | null;
  /** How long ago that was, by the database's clock. */
  ageMs: number | null;
}

/** One sweep may be missed, because the next sweep makes up for it. Two missed sweeps in a row mean that nobody
 *  sweeps. */
const INTERVALS = 2;

/** The sweeps that are older than two of their intervals. No sweep is called later than the watch is old (`watchedMs`):
 *  right after a start the first sweep is not due yet. */
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
  return `${Math.round(ms / 1_000)} s`;
}
