/** How many submissions entered each state in a period, and the reasons of the failed submissions. */
export interface SubmissionMoves {
  byState: Readonly<Record<string, number>>;
  /** Rejected by a person, at NEEDS_REVIEW or TIER3_REVIEW. */
  rejectedByPerson: number;
  /** Ended because tries were spent or recovery gave up (STUCK_EXHAUSTED or POISON), which is not a verdict. */
  givenUp: number;
}

export interface SubmissionRates {
  /** Null: the whole is empty, so it has no shares. */
  autoApproveRate: number | null;
  needsReviewRate: number | null;
  rejectionRate: number | null;
  jobFailureRate: number | null;
}

/** Approval and review are shares of the submissions that scan and judge decided. Rejection and failure are shares of
 *  the submissions that ended. */
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
