import type { Diagnosis, RunningTask } from './diagnosis.js';

export function endOf(until: Date | 'infinity'): Date | null {
  return until === 'infinity' ? null : until;
}

export function runnerSentence(task: RunningTask): string {
  return `${task.worker ?? 'A worker'} runs ${nameOf(task)}, attempt ${task.attempt}`;
}

export function attemptEvidence(task: RunningTask): Diagnosis['evidence'] {
  const { stage, unit, attempt, worker } = task;
  return { stage, unit, attempt, worker, startedAt: task.startedAt.toISOString(), beatAt: task.beatAt.toISOString() };
}

export function nameOf({ stage, unit }: { stage: string; unit: string }): string {
  return unit === '' ? stage : `${stage} of ${unit}`;
}

export function count(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? '' : 's'}`;
}

const AGE_UNITS = [
  { unit: 'd', ms: 86_400_000 },
  { unit: 'h', ms: 3_600_000 },
  { unit: 'min', ms: 60_000 },
  { unit: 's', ms: 1_000 },
] as const;

/** The age in the largest unit that fits at least twice, so that 90 s do not become "1 min". */
export function ageOf(from: Date, to: Date): string {
  const ms = Math.max(0, to.getTime() - from.getTime());
  const fits = AGE_UNITS.find((each) => ms >= 2 * each.ms);
  return fits ? `${Math.floor(ms / fits.ms)} ${fits.unit}` : `${(ms / 1_000).toFixed(1)} s`;
}
