import type { Criterion, Limit } from '../core/judgement/judgement.js';
import type { Privilege } from '../core/judgement/privilege.js';
import type { Skill } from './skill.js';
import type { Finding } from './skill-scanner.js';

export interface Concern {
  criterion: Criterion;
  /** One sentence for the owner. */
  text: string;
  /** Quoted from the skill; checked against its files, null where nothing is quoted. */
  quote: { file: string; line: number; text: string } | null;
}

export interface Judgement {
  /** 0 to 100: the points, or the lowest limit where that is less. Computed by us, never taken from the model. */
  score: number;
  /** Points of each criterion, up to its weight. */
  criteria: Readonly<Record<Criterion, number>>;
  /** What the score can't exceed, whatever the judge says: findings of the scan, text addressed to the reviewer, files the
   *  judge did not see, quotes it made up. */
  limits: readonly Limit[];
  concerns: readonly Concern[];
  /** Unrestricted shell, writes outside the project, environment or key access, sudo or chmod, executable scripts: not
   *  empty, a person decides however good the score. Found by us, never taken from the model. */
  privileges: readonly Privilege[];
  /** The model that was asked, or `rules-v1`: never one passed off as the other. */
  model: string;
}

/** No judgement is an error, never a verdict. `judge_unavailable`: it is away, slow or unintelligible, and another try can help
 *  (`facts.retryAfterMs` is when the judge asked for it). `judge_refused`: only the settings can help, so there is one try a run.
 *  Both are of class LLM_ERROR. `judge_declined`: it can't judge this content, today or tomorrow; that is the content's own doing
 *  (BAD_INPUT) and says nothing of the next one. */
export interface Judge {
  /** Names model, prompt and our own rules: with the content hash, the key under which a judgement is cached. It holds for the
   *  findings it was made with: other findings, of a scan with newer rules, ask for a new one. */
  readonly version: string;
  judge(skill: Skill, findings: readonly Finding[], signal: AbortSignal): Promise<Judgement>;
}
