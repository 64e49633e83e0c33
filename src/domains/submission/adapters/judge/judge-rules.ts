import { BEST_MARK, CRITERIA, type Marks } from '../../core/judgement/judgement.js';
import type { Place } from '../../core/text/plain-text.js';
import type { Judge } from '../../ports/judge.js';
import { createJudge, type Opinion } from './judge-frame.js';
import { ruleCaseOf } from './judge-rules-case.js';
import { type Check, CHECKS } from '../../../../adapters/judge-rules-checks.js';

/** Raise it with every change of a rule: judgements are kept under it. */
const RULES_VERSION = 'rules-v1';

interface Fault extends Check {
  place: Place | undefined;
}

/** The judge of an installation that has no model: fixed rules, the same answer every time, and no more than they say. */
export function createRulesJudge(): Judge {
  return createJudge({
    version: RULES_VERSION,
    model: RULES_VERSION,
    async assess(given): Promise<Opinion> {
      const rules = ruleCaseOf(given);
      const faults = CHECKS.flatMap((check): Fault[] => {
        const fault = check.fault(rules);
        return fault === false ? [] : [{ ...check, place: fault === true ? undefined : fault }];
      });
      return { marks: marksAfter(faults), concerns: faults.map(concernOf) };
    },
  });
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
