import type { Criterion, Limit, Thresholds } from '../core/judgement/judgement.js';
import type { Privilege } from '../core/judgement/privilege.js';
import type { Skill } from './skill.js';
import type { ScanFinding } from './skill-scanner.js';

export interface Concern {
  criterion: Criterion;
  /** One sentence for the owner. */
  text: string;
  /** A quote from the skill, checked against its files. Null: the concern quotes nothing. */
  quote: { file: string; line: number; text: string } | null;
}

export interface Judgement {
  /** 0 to 100: the sum of the points, or the lowest limit if that is less. Computed here, never taken from the
   *  model. */
  score: number;
  /** Points of each criterion, at most its weight. */
  criteria: Readonly<Record<Criterion, number>>;
  /** Upper bounds of the score, whatever the judge says. They come from scan findings, text addressed to the reviewer,
   *  files that the judge did not see, and quotes that it made up. */
  limits: readonly Limit[];
  concerns: readonly Concern[];
  /** Unrestricted shell, writes outside the project, environment or key access, sudo or chmod, executable scripts. If
   *  the list is not empty, a person decides, however good the score is. Found by rules, never taken from the model. */
  privileges: readonly Privilege[];
  /** The model that gave the marks, or `rules-v1` if rules did. */
  model: string;
}

/** A judge that can't give a judgement throws; it never answers with a verdict instead. `judge_unavailable`: the judge
 *  is away, slow or unintelligible, and another try can help (`facts.retryAfterMs` is the wait that it asked for).
 *  `judge_refused`: only a change of the settings can help, so there is one try a run. Both are of class LLM_ERROR.
 *  `judge_declined`: the judge can't judge this content, now or later. The content is the cause (BAD_INPUT), so other
 *  submissions are not affected. */
export interface Judge {
  /** Names the model, the prompt and the rules. A judgement is cached under this version, the thresholds, the content hash and the
   *  findings, because a scan with newer rules may have other findings and then needs a new judgement. */
  readonly version: string;
  /** The thresholds that the limits of its judgements are made for, and that its verdicts follow. */
  readonly thresholds: Thresholds;
  judge(skill: Skill, findings: readonly ScanFinding[], signal: AbortSignal): Promise<Judgement>;
}
