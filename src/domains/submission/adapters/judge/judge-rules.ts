import { BEST_MARK, CRITERIA, type Marks, type Thresholds } from '../../core/judgement/judgement.js';
import type { Place } from '../../core/text/plain-text.js';
import type { Judge } from '../../ports/judge.js';
import { type Case, createJudge, type Opinion } from './judge-frame.js';
import { BEHAVIOUR_CHECKS } from './judge-rules-behaviour.js';
import { type RuleCheck, ruleCaseOf } from './judge-rules-case.js';
import { FORM_CHECKS } from './judge-rules-form.js';
import { PRIVILEGE_CHECKS } from './judge-rules-privilege.js';

export const CHECKS: readonly RuleCheck[] = [...FORM_CHECKS, ...PRIVILEGE_CHECKS, ...BEHAVIOUR_CHECKS];

/** Raise it with every change of a rule, because stored judgements are looked up by it. */
const RULES_VERSION = 'rules-v1';

interface Fault extends RuleCheck {
  place: Place | undefined;
}

/** The judge of an installation without a model. Its rules are fixed, so a skill gets the same answer every time. */
export function createRulesJudge(thresholds: Thresholds): Judge {
  const assess = async (given: Case): Promise<Opinion> => {
    const rules = ruleCaseOf(given);
    const faults = CHECKS.flatMap((check): Fault[] => {
      const fault = check.fault(rules);
      return fault === false ? [] : [{ ...check, place: fault === true ? undefined : fault }];
    });
    return { marks: marksAfter(faults), concerns: faults.map(concernOf) };
  };
  return createJudge({ version: RULES_VERSION, model: RULES_VERSION, assess }, thresholds);
}

function marksAfter(faults: readonly Fault[]): Marks {
  const marks = CRITERIA.map((name) => {
    const lost = faults.filter(({ criterion }) => criterion === name).reduce((sum, { costs }) => sum + costs, 0);
    return [name, Math.max(0, BEST_MARK - lost)];
  });
  return Object.fromEntries(marks) as Record<keyof Marks, number>;
}

function concernOf({ criterion, says, place }: Fault): Opinion['concerns'][number] {
  return { criterion, text: says, quote: place && place.text !== '' ? { file: place.file, text: place.text } : null };
}
