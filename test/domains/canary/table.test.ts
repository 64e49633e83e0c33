import { describe, expect, it } from 'vitest';
import { afterStage, edgesOf, fanOutFedBy, retryStates, rowOf, stageOf, targetOf } from '../../../src/core/machine.js';
import { canary } from '../../../src/domains/canary/table.js';

/** Takes the steps named, `state stage outcome`, and says where each leads. */
function led(...steps: string[]): string[] {
  return steps.map((step) => {
    const [state = '', stage = '', outcome = ''] = step.split(' ');
    const after = afterStage(canary, { state, stage, outcome });
    return after.is === 'move' ? after.state : after.stage.stage;
  });
}

describe('the canary', () => {
  it('is swept and rescued as the specification says', () => {
    expect(canary.sweep).toEqual({ every: '10s', staleAfter: '5s', stuckAfter: '15s' });
    expect(canary.rescue).toMatchObject({
      budget: 3,
      backoff: ['2s', '5s', '10s'],
      budgetResetAfter: '24h',
      exhausted: 'FAILED',
    });
  });

  it('runs its three stages', () => {
    expect(led('FIRST first done', 'SECOND second done', 'THIRD third done')).toEqual(['SECOND', 'THIRD', 'DONE']);
  });

  it('spreads if it is asked to', () => {
    expect(led('FIRST first split', 'SPREADING spread done')).toEqual(['SPREADING', 'SECOND']);
    expect(stageOf(canary, 'spread').row.fanOut).toEqual({ width: 8, needs: 'all' });
    expect(fanOutFedBy(canary, { state: 'FIRST', stage: 'first', outcome: 'split' })).toBe('spread');
  });

  it('awaits its owner if it is asked to', () => {
    expect(led('SECOND second ask')).toEqual(['AWAITING']);
    const awaiting = rowOf(canary, 'AWAITING');
    expect(['approve', 'reject'].map((outcome) => targetOf(awaiting, outcome))).toEqual(['THIRD', 'FAILED']);
  });

  it('begins anew when it has failed, and is over when it is done', () => {
    const reopening = edgesOf(canary).filter(({ via }) => via === 'reopen');
    expect(reopening).toEqual([{ from: 'FAILED', to: 'FIRST', trigger: 'retry', via: 'reopen' }]);
    expect(retryStates(canary)).toEqual(['FIRST', 'SECOND', 'THIRD']);
  });
});
