import type { SkillFile } from './skill.js';

export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** One thing that was found, told so that its owner can find and mend it. */
export interface Finding {
  /** Of the rule: stable, for people and statistics. */
  id: string;
  name: string;
  severity: Severity;
  category: string;
  file: string;
  /** From 1; null where the finding is of the whole file or folder. */
  line: number | null;
  /** What matched, secrets masked, cut to a sensible length. */
  match: string;
  /** The line it stands in, secrets masked, cut. */
  context: string;
  /** What the owner can do about it. */
  remedy: string;
}

export interface ScanResult {
  /** PASS: no critical, no high, structure valid. */
  verdict: 'pass' | 'fail';
  findings: readonly Finding[];
  durationMs: number;
}

/** Deterministic: the same files give the same findings. What can't be read, is too large or takes too long never passes. */
export interface SkillScanner {
  /** `onTurn` hears how many scans come before this one, whenever that changes; 0: its own has begun. */
  scan(files: readonly SkillFile[], signal: AbortSignal, onTurn?: (ahead: number) => void): Promise<ScanResult>;
}
