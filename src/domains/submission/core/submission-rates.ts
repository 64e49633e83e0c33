/** Submissions that came to a state in a stretch of time, by state; and why those that ended in failure did. */
export interface SubmissionMoves {
  byState: Readonly<Record<string, number>>;
  /** Rejected by a person, at NEEDS_REVIEW or TIER3_REVIEW. */
  rejectedByPerson: number;
  /** Given up by recovery: STUCK_EXHAUSTED or POISON. No verdicts. */
  givenUp: number;
}

export interface SubmissionRates {
  /** Null: there was nothing to take a share of. */
  autoApproveRate: number | null;
  needsReviewRate: number | null;
  rejectionRate: number | null;
  jobFailureRate: number | null;
}

/** Approval and review are shares of what scans and judge have decided, rejection and failure of what has ended. */
export function submissionRates({ byState, rejectedByPerson, givenUp }: SubmissionMoves): SubmissionRates {
  const to = (state: string): number => byState[state] ?? 0;
  const rejected = to('REJECTED') + to('TIER1_FAILED') - givenUp;
  const decided = to('AUTO_APPROVED') + to('VENDOR_APPROVED') + to('NEEDS_REVIEW') + rejected - rejectedByPerson;
  const ended = to('PUBLISHED') + rejected + givenUp;
  return {
    autoApproveRate: shareOf(to('AUTO_APPROVED'), decided),
    needsReviewRate: shareOf(to('NEEDS_REVIEW'), decided),
    rejectionRate: shareOf(rejected, ended),
    jobFailureRate: shareOf(givenUp, ended),
  };
}

function shareOf(part: number, whole: number): number | null {
  return whole > 0 ? Math.max(0, part) / whole : null;
}
