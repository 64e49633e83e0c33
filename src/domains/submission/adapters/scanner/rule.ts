import type { NapiConfig } from '@ast-grep/napi';
import type { Severity } from '../../ports/skill-scanner.js';

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

/** What a finding says of its rule. */
export interface RuleHead {
  id: string;
  name: string;
  severity: Severity;
  category: Category;
  /** The kind of behaviour it stands for; never one sample. */
  description: string;
  remedy: string;
}

interface Exampled extends RuleHead {
  /** Texts in which it must be found, and texts in which it must not: each rule is tested by its own. */
  matches: readonly string[];
  ignores: readonly string[];
}

/** Regular expressions in YARA-X's dialect (no look-around, `^` is the start of the file): matched in linear time. */
export interface TextRule extends Exampled {
  engine: 'text';
  patterns: readonly RegExp[];
  /** What makes a match harmless, tried on the match alone. */
  unless?: RegExp;
}

export type Language = 'bash' | 'python' | 'javascript';

/** The shape of code, whatever its spacing, quoting and order of arguments. */
export interface SyntaxRule extends Exampled {
  engine: 'syntax';
  language: Language;
  /** Words without which it can't match: to parse is dear. */
  words: RegExp;
  rule: NapiConfig['rule'];
}

/** Harmless or doubtful one by one, telling together: findings of all these rules within so many lines of one file. */
export interface ChainRule extends Exampled {
  engine: 'chain';
  all: readonly (readonly string[])[];
  withinLines: number;
}

/** Secretlint's own rules, of which this is the head. */
export interface SecretRule extends Exampled {
  engine: 'secretlint';
}

/** A package or skill whose name is almost that of a well-known one. */
export interface NameRule extends Exampled {
  engine: 'names';
  known: readonly string[];
}

/** An encoded text that, decoded, holds what another rule finds. */
export interface EncodedRule extends Exampled {
  engine: 'encoded';
  /** What is telling by having been encoded, though harmless in the open. */
  reveals: RegExp;
}

/** A run of letters, digits and signs of an encoding that is longer than any word. */
export interface BlobRule extends Exampled {
  engine: 'blob';
  minCharacters: number;
}

/** A value that one line takes from a source and a later one hands to a sink, followed by its name. */
export interface FlowRule extends Exampled {
  engine: 'flow';
  source: RegExp;
  sink: RegExp;
  withinLines: number;
}

export type Rule = BlobRule | FlowRule | TextRule | SyntaxRule | ChainRule | SecretRule | NameRule | EncodedRule;
