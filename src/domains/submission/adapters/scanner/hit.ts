import type { RuleHead } from './rule.js';

/** One match of a rule, before it is masked and cut. */
export interface Hit {
  rule: RuleHead;
  file: string;
  /** From 1, in the file as submitted. Null: the hit is about the whole file or folder. */
  line: number | null;
  match: string;
  /** The line that holds the match. */
  context: string;
  /** A warning in the documentation forbids the matched action. The hit is for information only and never part of a
   *  chain. */
  isForbidden?: true;
}
