import type { NapiConfig } from '@ast-grep/napi';
import type { Severity } from '../../core/verdict/scan-verdict.js';

export const CATEGORIES = [
  'structure',
  'execution',
  'remote-execution',
  'destruction',
  'privilege',
  'credentials',
  'exfiltration',
  'injection',
  'hidden-text',
  'obfuscation',
  'persistence',
  'supply-chain',
  'secrets',
] as const;
export type Category = (typeof CATEGORIES)[number];

/** The facts of a rule that its findings repeat. */
export interface RuleHead {
  id: string;
  name: string;
  severity: Severity;
  category: Category;
  /** The kind of behaviour that the rule finds; never a single sample. */
  description: string;
  remedy: string;
}

interface Exampled extends RuleHead {
  /** Texts that the rule must find, and texts that it must ignore. A test checks each rule against its own texts. */
  matches: readonly string[];
  ignores: readonly string[];
}

/** Regular expressions in YARA-X's dialect (no look-around, `^` is the start of the file), which match in linear
 *  time. */
export interface TextRule extends Exampled {
  engine: 'text';
  patterns: readonly RegExp[];
  /** A match that fits this pattern is harmless. Only the match itself is tried. */
  unless?: RegExp;
}

export type Language = 'bash' | 'python' | 'javascript';

/** Matches the syntax of code, whatever its spacing, quoting and order of arguments. */
export interface SyntaxRule extends Exampled {
  engine: 'syntax';
  language: Language;
  /** Words without which the rule can't match. They are tried first, because parsing is expensive. */
  words: RegExp;
  rule: NapiConfig['rule'];
}

/** Hits that are harmless or doubtful alone and mean an attack together: one hit of every group in `all`, within so
 *  many lines of one file. */
export interface ChainRule extends Exampled {
  engine: 'chain';
  all: readonly (readonly string[])[];
  withinLines: number;
}

/** Stands for all rules of secretlint; their findings carry this head. */
export interface SecretRule extends Exampled {
  engine: 'secretlint';
}

/** Finds a package or skill whose name is almost the name of a well-known one. */
export interface NameRule extends Exampled {
  engine: 'names';
  known: readonly string[];
}

/** Finds encoded text in which, once decoded, another rule has a hit. */
export interface EncodedRule extends Exampled {
  engine: 'encoded';
  /** Text that is harmless in the open and suspicious where it was encoded. */
  reveals: RegExp;
}

/** Finds a run of letters, digits and signs of an encoding that is longer than any word. */
export interface BlobRule extends Exampled {
  engine: 'blob';
  minCharacters: number;
}

/** Finds a value that one line takes from a source and a later line hands to a sink. The value is followed by its
 *  variable's name. */
export interface FlowRule extends Exampled {
  engine: 'flow';
  source: RegExp;
  sink: RegExp;
  withinLines: number;
}

export type Rule = BlobRule | FlowRule | TextRule | SyntaxRule | ChainRule | SecretRule | NameRule | EncodedRule;
