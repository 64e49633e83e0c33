import { expect, it } from 'vitest';
import { submissionRates } from '../../../../src/domains/submission/core/submission-rates.js';

it('leaves rates unknown, not zero, where nothing was decided', () => {
  expect(submissionRates({ byState: { RECEIVED: 3 }, rejectedByPerson: 0, givenUp: 0 })).toEqual({
    autoApproveRate: null,
    needsReviewRate: null,
    rejectionRate: null,
    jobFailureRate: null,
  });
});

it('take what recovery gave up for a failure and not for a verdict, and a person’s no for a review', () => {
  const byState = { AUTO_APPROVED: 4, VENDOR_APPROVED: 1, NEEDS_REVIEW: 3, TIER1_FAILED: 1, REJECTED: 3, PUBLISHED: 6 };
  expect(submissionRates({ byState, rejectedByPerson: 1, givenUp: 1 })).toEqual({
    autoApproveRate: 4 / 10,
    needsReviewRate: 3 / 10,
    rejectionRate: 3 / 10,
    jobFailureRate: 1 / 10,
  });
});
