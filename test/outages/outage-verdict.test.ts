import { describe, expect, it } from 'vitest';
import { outageFindings } from './outage-verdict.js';
import type { OutageReport } from './temporal-away.js';

/** Two items of each kind, with whatever a test breaks. */
function report(broken: Partial<OutageReport> = {}): OutageReport {
  const away = ['engine_unreachable'];
  return {
    ...{ awayMs: 20_000, doneAfterMs: 5_000, health: 'degraded' },
    reasons: { inStage: ['running', ...away], between: away, spread: away, awaiting: away, submitted: away },
    ...{ items: 10, done: 10, doubled: 0, missing: 0, rescues: 0, restarted: 0, errors: 0, crashes: 0 },
    ...{ givenBack: 1, receipts: { engine_unreachable: 1 }, openReceipts: 0, finished: 11, finishedAgain: [] },
    longStages: [
      { attempt: 2, lastMs: 20_000, ofMs: 30_000 },
      { attempt: 1, lastMs: 30_100, ofMs: 30_000 },
    ],
    ...broken,
  };
}

const SOUND = report();

describe('the verdict on an outage', () => {
  it('finds nothing where it cost only time', () => {
    expect(outageFindings(SOUND, 2)).toEqual([]);
  });

  it.each<[string, Partial<OutageReport>]>([
    ['items were left out', { items: 9, done: 9 }],
    ['an item is not done', { done: 9 }],
    ['health said that all is well', { health: 'ok' }],
    ['an item gave another reason', { reasons: { ...SOUND.reasons, spread: ['running'] } }],
    ['an item in its stage gave another reason', { reasons: { ...SOUND.reasons, inStage: ['no_worker'] } }],
    ['nobody was asked for a reason', { reasons: { ...SOUND.reasons, awaiting: [] } }],
    ['an effect is there twice', { doubled: 1 }],
    ['an effect is missing', { missing: 1 }],
    ['an item was rescued', { rescues: 1 }],
    ['an item has another run', { restarted: 1 }],
    ['a try was spent', { errors: 1 }],
    ['a crash was counted', { crashes: 1 }],
    ['there is a receipt of something else', { receipts: { engine_unreachable: 1, silent_worker: 1 } }],
    ['a start was made up for that nobody had lost', { receipts: { engine_unreachable: 1, start_lost: 3 } }],
    ['a stage was given back without a receipt', { givenBack: 2 }],
    ['a receipt was never completed', { openReceipts: 1 }],
    ['no stage was given back', { givenBack: 0, receipts: {} }],
    ['what was done was begun again', { finishedAgain: ['a first'] }],
    ['hardly anything was done before', { finished: 10 }],
    ['a long stage is missing', { longStages: SOUND.longStages.slice(0, 1) }],
    ['no long stage was interrupted', { longStages: SOUND.longStages.map((each) => ({ ...each, attempt: 1 })) }],
    [
      'a checkpoint was lost',
      { longStages: SOUND.longStages.map((each) => ({ ...each, attempt: 2, lastMs: 30_000 })) },
    ],
  ])('finds that %s', (_, broken) => {
    expect(outageFindings(report(broken), 2)).toHaveLength(1);
  });
});
