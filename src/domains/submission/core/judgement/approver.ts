/** Who may approve skills. */
export interface ApproverSettings {
  /** Null: no model judges, the built-in rules do. */
  judge: { model: string } | null;
  mayRulesApprove: boolean;
}

/** What operators should know about an installation whose skills no model judges. Null: a model judges them. */
export function missingModelRemark({ judge, mayRulesApprove }: ApproverSettings): string | null {
  if (judge !== null) return null;
  const fact = 'No model judges skills, because JUDGE_PROVIDER is not set here';
  return mayRulesApprove
    ? `${fact}; with JUDGE_RULES_MAY_APPROVE=true the built-in rules publish skills that no model and no person has seen.`
    : `${fact}; a skill that the built-in rules would approve waits for a person.`;
}
