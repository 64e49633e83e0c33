import { sizeOf } from './show-progress.js';

/** What became of a file. */
export interface Outcome {
  name: string;
  sizeBytes: number;
  /** Null: it was not registered. */
  fileId: string | null;
  state: string;
  /** Null: it is ready. */
  why: string | null;
}

/** 0: every file is ready. 1: at least one is not. */
export function exitCodeOf(outcomes: readonly Outcome[]): 0 | 1 {
  return outcomes.every(({ state }) => state === 'ready') ? 0 : 1;
}

/** Longer names are cut, so that the table keeps its columns. */
const NAME_WIDTH = 40;

export function tableOf(outcomes: readonly Outcome[]): string[] {
  const width = Math.min(NAME_WIDTH, Math.max(4, ...outcomes.map(({ name }) => name.length)));
  const rows = outcomes.map(({ name, sizeBytes, state, why }) => {
    const shown = name.length > width ? `${name.slice(0, width - 1)}…` : name;
    return `${shown.padEnd(width)}  ${sizeOf(sizeBytes).padStart(9)}  ${state.padEnd(10)}  ${why ?? ''}`.trimEnd();
  });
  return [`${'file'.padEnd(width)}  ${'size'.padStart(9)}  ${'state'.padEnd(10)}  reason`, ...rows];
}

/** For scripts. */
export function uploadFiguresOf(outcomes: readonly Outcome[], skipped: number): Record<string, unknown> {
  const ready = outcomes.filter(({ state }) => state === 'ready').length;
  return {
    ok: ready === outcomes.length,
    ready,
    failed: outcomes.length - ready,
    skipped,
    files: outcomes.map(({ name, fileId, state }) => ({ name, fileId, state })),
  };
}
