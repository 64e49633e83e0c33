import { describe, expect, expectTypeOf, it } from 'vitest';
import { edgesOf, isLegalMove, stageOf } from '../../../src/core/machine.js';
import type { OutcomeOf } from '../../../src/core/pipeline.js';
import { submission } from '../../../src/domains/submission/table.js';
import type { DecisionSaves } from '../../../src/ports/decision.js';
import type { Stage } from '../../../src/ports/stage.js';
import { finalStates, movesBy, movesIn } from '../../support/table-moves.js';

describe("the specification's submission fits a table", () => {
  it('with its moves and no others', () => {
    const fromSource = movesIn(
      `RECEIVED → VENDOR_APPROVED | TIER1_SCANNING · TIER1_SCANNING → TIER2_SCANNING | TIER1_FAILED ·
       TIER2_SCANNING → AUTO_APPROVED | NEEDS_REVIEW | REJECTED · NEEDS_REVIEW → TIER3_REVIEW | REJECTED ·
       TIER3_REVIEW → PUBLISHED | REJECTED · AUTO_APPROVED → PUBLISHED · VENDOR_APPROVED → PUBLISHED`,
    );
    expect(movesBy(submission, 'outcome', 'spent')).toEqual([...fromSource, 'VENDOR_APPROVED → REJECTED'].sort());
    expect(finalStates(submission)).toEqual(['PUBLISHED', 'REJECTED', 'TIER1_FAILED']);
  });

  it('with its recovery moves: every automatic state to REJECTED, and to a review while the judge stays away', () => {
    const automatic = ['RECEIVED', 'VENDOR_APPROVED', 'TIER1_SCANNING', 'TIER2_SCANNING', 'AUTO_APPROVED'];
    const rejected = automatic.map((state) => `${state} → REJECTED`);
    expect(movesBy(submission, 'exhaustion')).toEqual([...rejected, 'TIER2_SCANNING → NEEDS_REVIEW'].sort());
    expect(movesBy(submission, 'reopen', 'rescue')).toEqual([]);
  });

  it('with its words of the audit trail', () => {
    const words = new Set(edgesOf(submission).map((edge) => edge.trigger));
    expect([...words].sort()).toEqual([
      'admin-escalate',
      'admin-reject',
      'cancelled',
      'fetch-failed',
      'judge-unavailable',
      'non-vendor-submission',
      'publish-complete',
      'review-approve',
      'review-reject',
      'stuck-exhausted',
      'tier1-fail',
      'tier1-pass',
      'tier1-timeout',
      'tier2-concerns',
      'tier2-fail',
      'tier2-pass',
      'vendor-auto-verify',
    ]);
  });

  it('with a reviewer in both reviews, whose moves keep the words that older versions write', () => {
    const reviews = edgesOf(submission).filter(({ from, via }) => from.endsWith('REVIEW') && via === 'outcome');
    expect(reviews.map(({ from, to, trigger }) => `${from} > ${to}: ${trigger}`)).toEqual([
      'NEEDS_REVIEW > TIER3_REVIEW: admin-escalate',
      'NEEDS_REVIEW > REJECTED: admin-reject',
      'TIER3_REVIEW > PUBLISHED: review-approve',
      'TIER3_REVIEW > REJECTED: review-reject',
    ]);
    const { NEEDS_REVIEW, TIER3_REVIEW } = submission.states;
    expect([NEEDS_REVIEW.awaits, TIER3_REVIEW.awaits]).toEqual(['reviewer', 'reviewer']);
  });

  it('with its retries by cause', () => {
    expect(stageOf(submission, 'scanTier1').row).toMatchObject({ tries: 4, backoff: { first: '30s', max: '2m' } });
    expect(stageOf(submission, 'fetch').row).toMatchObject({
      tries: 2,
      within: '2m',
      spent: { move: 'TIER1_FAILED' },
    });
    for (const stage of ['fetch', 'fetchVendor']) {
      expect(stageOf(submission, stage).row).toMatchObject({ tries: 2, backoff: { first: '30s', max: '30s' } });
    }
    expect(stageOf(submission, 'judgeTier2').row).toMatchObject({ tries: 3, spent: 'leave' });
  });

  it('with final states that nobody retries from', () => {
    expect(isLegalMove(submission, { from: 'REJECTED', to: 'RECEIVED', via: 'retry' })).toBe(false);
  });
});

describe('what the compiler knows of the table', () => {
  it('the outcomes of its stages: only the last of several stages picks them', () => {
    expectTypeOf<OutcomeOf<typeof submission, 'judgeTier2'>>().toEqualTypeOf<
      'pass' | 'concerns' | 'unjudged' | 'fail'
    >();
    expectTypeOf<OutcomeOf<typeof submission, 'fetch'>>().toEqualTypeOf<'done'>();
    expectTypeOf<OutcomeOf<typeof submission, 'scanTier1'>>().toEqualTypeOf<'pass' | 'fail'>();
    // @ts-expect-error only the last stage of a state picks its outcome
    const fetch: Stage<typeof submission, 'fetch'> = async () => ({ outcome: 'pass' });
    expect(fetch).toBeTypeOf('function');
  });

  it('the decisions that something can be saved with', () => {
    const save = () => Promise.resolve({});
    const saves: DecisionSaves<typeof submission>[] = [
      { TIER3_REVIEW: { approve: save } },
      // @ts-expect-error no such outcome there
      { NEEDS_REVIEW: { approve: save } },
      // @ts-expect-error nobody decides there
      { RECEIVED: { vendor: save } },
    ];
    expect(saves).toHaveLength(3);
  });
});
