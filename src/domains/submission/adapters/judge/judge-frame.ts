import { SUBMISSION_CODES } from '../../errors.js';
import { AppError } from '../../../../core/errors.js';
import {
  limitOfAddresses,
  limitOfFlaws,
  limitOfInvented,
  limitOfUnseen,
  type Marks,
  pointsOf,
  scoreOf,
  type Thresholds,
} from '../../core/judgement/judgement.js';
import { type Privilege, privilegesOf } from '../../core/judgement/privilege.js';
import { addressesOf, type ReviewerAddress } from '../../core/judgement/reviewer-address.js';
import type { Concern, Judge } from '../../ports/judge.js';
import type { ScanFinding } from '../../ports/skill-scanner.js';
import { type Material, materialOf } from './judge-material.js';
import { checkConcerns, type ClaimedConcern } from './judge-quotes.js';

/** The facts that every judge is given. */
export interface Case {
  material: Material;
  findings: readonly ScanFinding[];
  privileges: readonly Privilege[];
  addresses: readonly ReviewerAddress[];
}

/** The decisions that are left to a judge. */
export interface Opinion {
  marks: Marks;
  concerns: readonly ClaimedConcern[];
}

interface Assessor {
  version: string;
  model: string;
  assess(given: Case, signal: AbortSignal): Promise<Opinion>;
}

/** Raise it with every change of the limits, the privileges, or the rule for text addressed to the reviewer, because
 *  a stored judgement contains their results. */
const FRAME_VERSION = 'f3';

/** The first few show the owner enough, however many the skill has. */
const MAX_ADDRESSES_SHOWN = 5;

/** The part that all judges share: the material, the facts found before the judge is asked, and the limits that its
 *  opinion can't undo. */
export function createJudge({ version, model, assess }: Assessor, thresholds: Thresholds): Judge {
  return {
    thresholds,
    version: `${version}:${FRAME_VERSION}`,
    async judge(skill, findings, signal) {
      if (signal.aborted) throw new AppError(SUBMISSION_CODES.judge_unavailable, 'stopped before the judge was asked');
      const material = materialOf(skill);
      const privileges = privilegesOf(material.files);
      const addresses = addressesOf(material.files);
      const opinion = await assess({ material, findings, privileges, addresses }, signal);
      const { concerns, invented } = checkConcerns(opinion.concerns, material);
      const criteria = pointsOf(opinion.marks);
      const limits = [
        ...limitOfFlaws(findings, thresholds),
        ...limitOfAddresses(addresses, thresholds),
        ...limitOfUnseen(material.unseen, thresholds),
        ...limitOfInvented(invented, thresholds),
      ];
      const score = scoreOf(criteria, limits);
      return {
        score,
        criteria,
        limits,
        concerns: [...addresses.slice(0, MAX_ADDRESSES_SHOWN).map(concernOf), ...concerns],
        privileges,
        model,
      };
    },
  };
}

function concernOf({ file, line, text, isDemand }: ReviewerAddress): Concern {
  const says = isDemand ? 'This tells the reviewer which verdict to give.' : 'This is addressed to the reviewer.';
  return { criterion: 'noSocialEngineering', text: `${says} Remove it.`, quote: { file, line, text } };
}
