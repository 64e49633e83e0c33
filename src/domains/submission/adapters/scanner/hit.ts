import type { RuleHead } from './rule.js';

/** What an engine found, before it is masked, cut and weighed. */
export interface Hit {
  rule: RuleHead;
  file: string;
  /** From 1, in the file as submitted; null: the whole file or folder. */
  line: number | null;
  match: string;
  /** The line around it. */
  context: string;
  /** A warning forbids it: told for information, and no part of anything graver. */
  isForbidden?: true;
}
