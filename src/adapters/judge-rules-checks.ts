import type { Criterion } from '../core/judgement.js';
import type { Place } from '../core/plain-text.js';
import { BEHAVIOUR_CHECKS } from './judge-rules-behaviour.js';
import type { RuleCase } from './judge-rules-case.js';
import { FORM_CHECKS } from './judge-rules-form.js';
import { PRIVILEGE_CHECKS } from './judge-rules-privilege.js';

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
