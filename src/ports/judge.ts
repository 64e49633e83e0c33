import type { Skill } from './skill.js';
import type { Finding } from './skill-scanner.js';

/** Weights of the rubric, in points of 100. */
export const RUBRIC = {
  intentMatchesScope: 20,
  leastPrivilege: 15,
  noObfuscation: 15,
  noSocialEngineering: 10,
  securityNotes: 10,
  templateCompliance: 10,
  consistentBehaviour: 10,
  capabilitiesJustified: 10,
} as const;
export type Criterion = keyof typeof RUBRIC;

export interface Concern {
  criterion: Criterion;
  /** One sentence for the owner. */
  text: string;
  /** Quoted from the skill; checked against its files, null where nothing is quoted. */
  quote: { file: string; line: number; text: string } | null;
}

export interface Judgement {
  /** 0 to 100, computed by us from the criteria, never taken from the model. */
  score: number;
  criteria: Readonly<Record<Criterion, number>>;
  concerns: readonly Concern[];
  /** Unrestricted shell, writes outside the project, environment or key access, sudo or chmod, executable scripts. */
  highPrivilege: boolean;
  /** The model that answered, or `rules-v1`: never one passed off as the other. */
  model: string;
}

/** Being away, slow or unintelligible is an error of class LLM_ERROR, never a verdict. */
export interface Judge {
  /** Names model and prompt: with the content hash, the key under which a judgement is cached. */
  readonly version: string;
  judge(skill: Skill, findings: readonly Finding[], signal: AbortSignal): Promise<Judgement>;
}
