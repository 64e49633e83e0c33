import { AppError } from '../../../../core/errors.js';
import {
  limitOfAddresses,
  limitOfFlaws,
  limitOfInvented,
  limitOfUnseen,
  type Marks,
  pointsOf,
  scoreOf,
} from '../../core/judgement/judgement.js';
import { type Privilege, privilegesOf } from '../../core/judgement/privilege.js';
import { addressesOf, type ReviewerAddress } from '../../core/judgement/reviewer-address.js';
import type { Concern, Judge } from '../../ports/judge.js';
import type { Finding } from '../../ports/skill-scanner.js';
import { type Material, materialOf } from './judge-material.js';
import { checkedConcerns, type ClaimedConcern } from './judge-quotes.js';

/** All that a judge of any kind is asked about. */
export interface Case {
  material: Material;
  findings: readonly Finding[];
  privileges: readonly Privilege[];
  addresses: readonly ReviewerAddress[];
}

/** All that a judge of any kind decides. */
export interface Opinion {
  marks: Marks;
  concerns: readonly ClaimedConcern[];
}

interface Assessor {
  version: string;
  model: string;
  assess(given: Case, signal: AbortSignal): Promise<Opinion>;
}

/** Raise it with every change of limits, privileges and what counts as addressed to the reviewer: a judgement that is kept holds
 *  them too. */
const FRAME_VERSION = 'f3';

/** Of a text full of it, the first few are enough to show. */
const MAX_ADDRESSES_SHOWN = 5;

/** What holds for every judge: what it is shown, what is found before it is asked, and what its opinion can't undo. */
export function createJudge({ version, model, assess }: Assessor): Judge {
  return {
    version: `${version}:${FRAME_VERSION}`,
    async judge(skill, findings, signal) {
      if (signal.aborted) throw new AppError('judge_unavailable', 'stopped before the judge was asked');
      const material = materialOf(skill);
      const privileges = privilegesOf(material.files);
      const addresses = addressesOf(material.files);
      const opinion = await assess({ material, findings, privileges, addresses }, signal);
      const { concerns, invented } = checkedConcerns(opinion.concerns, material);
      const criteria = pointsOf(opinion.marks);
      const limits = [
        ...limitOfFlaws(findings),
        ...limitOfAddresses(addresses),
        ...limitOfUnseen(material.unseen),
        ...limitOfInvented(invented),
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
