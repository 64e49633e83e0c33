import type { Criterion } from '../domains/submission/core/judgement/judgement.js';
import type { Place } from '../domains/submission/core/text/plain-text.js';
import { BEHAVIOUR_CHECKS } from '../domains/submission/adapters/judge/judge-rules-behaviour.js';
import type { RuleCase } from '../domains/submission/adapters/judge/judge-rules-case.js';
import { FORM_CHECKS } from '../domains/submission/adapters/judge/judge-rules-form.js';
import { PRIVILEGE_CHECKS } from '../domains/submission/adapters/judge/judge-rules-privilege.js';

/** One thing the rules look at. */
export interface Check {
  name: string;
  criterion: Criterion;
  /** Marks of 10 that its fault takes off the criterion. */
  costs: number;
  /** One sentence for the owner. */
  says: string;
  /** Whether it is at fault, and where, if that can be shown. */
  fault(given: RuleCase): Place | boolean;
}

export const CHECKS: readonly Check[] = [...FORM_CHECKS, ...PRIVILEGE_CHECKS, ...BEHAVIOUR_CHECKS];
