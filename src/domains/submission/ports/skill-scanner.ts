import type { Severity } from '../core/verdict/scan-verdict.js';
import type { SkillFile } from './skill.js';

/** One match of a scan rule, with the facts that the skill's owner needs to mend it. */
export interface ScanFinding {
  /** The rule's id. It never changes, because people and statistics refer to it. */
  id: string;
  name: string;
  severity: Severity;
  category: string;
  file: string;
  /** From 1. Null: the finding is about the whole file or folder. */
  line: number | null;
  /** The text that matched, cut, with secrets masked. */
  match: string;
  /** The line that holds the match, cut, with secrets masked. */
  context: string;
  /** The owner's next action. */
  remedy: string;
}

export interface ScanResult {
  /** pass: no critical and no high finding, and a valid structure. */
  verdict: 'pass' | 'fail';
  findings: readonly ScanFinding[];
  durationMs: number;
}

/** Deterministic: the same files give the same findings. A skill that can't be read, is too large or takes too long
 *  never passes. */
export interface SkillScanner {
  /** `onTurn` is called with the number of scans ahead whenever that number changes. 0: this scan has begun. */
  scan(files: readonly SkillFile[], signal: AbortSignal, onTurn?: (ahead: number) => void): Promise<ScanResult>;
}
