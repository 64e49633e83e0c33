import type { Pipeline } from './pipeline.js';

export interface DeathSettings {
  /** A task that was running at so many worker deaths is a suspect. */
  suspect: number;
  /** A task that brought down so many processes of its own is poison. */
  poison: number;
}

/** One worker death may be chance, and the tasks beside it died too. Three deaths of a process that ran nothing but this task leave no
 *  other explanation; one of them may be the kernel, short of memory. */
export const DEFAULT_DEATHS: DeathSettings = { suspect: 2, poison: 3 };

export function deathsOf({ deaths }: Pipeline): DeathSettings {
  return deaths ?? DEFAULT_DEATHS;
}

/** A task whose own process has died stays a suspect, also when the worker deaths that it shared with a poisoned task are forgiven. */
export function isSuspect(pipeline: Pipeline, { crashes, ownDeaths }: { crashes: number; ownDeaths: number }): boolean {
  return ownDeaths > 0 || crashes >= deathsOf(pipeline).suspect;
}
