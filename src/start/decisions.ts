import { publishSkill } from '../domains/submission/db/skills.js';
import type { submission } from '../domains/submission/table.js';
import type { AnyDecisionSaves, DecisionSaves } from '../ports/decision.js';

const submissionDecisions = {
  TIER3_REVIEW: {
    approve: (transaction, itemId) => publishSkill(transaction, itemId, { tier: 'tier3', method: 'review' }),
  },
} as const satisfies DecisionSaves<typeof submission>;

/** What decisions bring about besides their moves, by pipeline. A new pipeline whose decisions only move has no entry. */
export const DECISION_SAVES: Readonly<Record<string, AnyDecisionSaves>> = { submission: submissionDecisions };
