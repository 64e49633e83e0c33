import { describe, expect, it } from 'vitest';
import {
  type AttemptSeen,
  type ItemSeen,
  type RoundSeen,
  roundVerdict,
} from '../../../../../src/domains/canary/start/drill/verdict.js';

const LIMITS = { elsewhereMs: 6_000, lockWaitMs: 2_000 };
const STRUCK = { id: 'worker-1@here', name: 'worker-1', pid: 4711 };

/** `worker stage #attempt from-to result`, the times in milliseconds after the strike. */
function attempt(worker: 1 | 2, stage: string, number: number, more: Partial<AttemptSeen>): AttemptSeen {
  const id = `worker-${String(worker)}@here`;
  return { visit: 1, unit: '', stage, attempt: number, worker: id, startedAt: 0, endedAt: 0, result: 'done', ...more };
}

const FIRST = attempt(1, 'first', 1, { startedAt: -4_000, endedAt: -1_000 });
const LOST = attempt(1, 'second', 1, { startedAt: -1_000, endedAt: 2_700, result: 'crash' });
const AGAIN = attempt(2, 'second', 2, { startedAt: 2_700, endedAt: 5_700 });
const THIRD = attempt(2, 'third', 1, { startedAt: 5_800, endedAt: 8_800 });
const EFFECTS = ['first', 'second', 'third'].map((stage) => ({ visit: 1, stage, unit: '' }));

const RECOVERED: ItemSeen = {
  id: 'item',
  state: 'DONE',
  endedAt: 8_800,
  attempts: [FIRST, LOST, AGAIN, THIRD],
  effects: EFFECTS,
  refusedTo: [],
};

function verdictOn(item: Partial<ItemSeen>, round: Partial<RoundSeen> = {}) {
  const items = [{ ...RECOVERED, ...item }];
  return roundVerdict(
    { kind: 'kill', worker: STRUCK, struckAt: 0, frozenItem: null, lockWaitMs: 0, goneSeenAt: null, items, ...round },
    LIMITS,
  );
}

describe('the verdict on a drill', () => {
  it('is good when the lost stage ran once more elsewhere and each stage left one effect', () => {
    const verdict = verdictOn({});

    expect(verdict.problems).toEqual([]);
    expect(verdict.items[0]).toMatchObject({
      isHit: true,
      seenAfterMs: 2_700,
      elsewhereAfterMs: 2_700,
      doneAfterMs: 8_800,
      runAgain: ['second'],
      finishedRunAgain: [],
    });
  });

  it.each([
    [400, 400, 'presence'],
    [2_701, 2_700, 'heartbeat'],
    [null, 2_700, 'heartbeat'],
  ])('says how the loss was seen: the lock gone after %s ms', (goneSeenAt, seenAfterMs, seenBy) => {
    expect(verdictOn({}, { goneSeenAt }).items[0]).toMatchObject({ seenAfterMs, seenBy });
  });

  it('counts an item that another worker ran as not hit', () => {
    const elsewhere = [FIRST, attempt(2, 'second', 1, { startedAt: -1_000, endedAt: 2_000 }), THIRD];
    const verdict = roundVerdict(
      {
        kind: 'kill',
        worker: STRUCK,
        struckAt: 0,
        frozenItem: null,
        lockWaitMs: 0,
        goneSeenAt: null,
        items: [RECOVERED, { ...RECOVERED, id: 'other', attempts: elsewhere }],
      },
      LIMITS,
    );

    expect(verdict.problems).toEqual([]);
    expect(verdict.items[1]).toMatchObject({ isHit: false, seenAfterMs: null, elsewhereAfterMs: null, runAgain: [] });
  });

  it.each<[string, Partial<ItemSeen>, RegExp]>([
    [
      'an effect that was committed twice',
      { effects: [...EFFECTS, { visit: 1, stage: 'second', unit: '' }] },
      /more than one effect of second/,
    ],
    ['an effect that is missing', { effects: EFFECTS.slice(0, 2) }, /without the effect of third/],
    ['an item that stayed stuck', { state: 'THIRD', endedAt: null }, /is not done: it is in THIRD/],
    ['an item that failed', { state: 'FAILED' }, /is not done: it is in FAILED/],
    [
      'a finished stage that ran again',
      { attempts: [...RECOVERED.attempts, attempt(2, 'first', 2, { startedAt: 3_000, endedAt: 4_000 })] },
      /ran first again after it was finished/,
    ],
    [
      'a stage that nobody took over',
      { state: 'SECOND', endedAt: null, attempts: [FIRST, { ...LOST, endedAt: null, result: 'running' }] },
      /was never run elsewhere/,
    ],
    [
      'a stage that only its own worker took up again',
      { attempts: [FIRST, LOST, { ...AGAIN, worker: STRUCK.id }, THIRD] },
      /was never run elsewhere/,
    ],
    [
      'a stage that was taken over too late',
      { attempts: [FIRST, LOST, { ...AGAIN, startedAt: 6_001 }, THIRD] },
      /ran elsewhere after 6\.00 s only/,
    ],
  ])('is bad for %s', (_, item, problem) => {
    expect(verdictOn(item).problems.join('\n')).toMatch(problem);
  });

  it('counts the same stage in another visit as another effect', () => {
    expect(verdictOn({ effects: [...EFFECTS, { visit: 2, stage: 'first', unit: '' }] }).problems).toEqual([]);
  });

  it('is bad when the worker ran nothing at that moment: nothing is proved then', () => {
    const committed = [FIRST, { ...LOST, result: 'done' as const, endedAt: 1 }, THIRD];

    expect(verdictOn({ attempts: committed }).problems.join()).toMatch(/ran none of the canaries when it was struck/);
  });

  it('wants a refused commit of the worker that was frozen, and of no other', () => {
    expect(verdictOn({ refusedTo: [STRUCK.id] }, { kind: 'freeze' }).problems).toEqual([]);
    expect(verdictOn({ refusedTo: ['worker-2@here'] }, { kind: 'freeze' }).problems.join()).toMatch(
      /no refused commit/,
    );
    expect(verdictOn({ refusedTo: [] }, { kind: 'freeze' }).problems.join()).toMatch(/no refused commit/);
  });

  it('wants a refused commit of the very item that froze in its commit', () => {
    const refused = { refusedTo: [STRUCK.id] };

    expect(verdictOn(refused, { kind: 'freezeInCommit', frozenItem: 'item' }).problems).toEqual([]);
    expect(verdictOn(refused, { kind: 'freezeInCommit', frozenItem: 'other' }).problems.join()).toMatch(/no refused/);
  });

  it('is bad when a session waited for the lock of a frozen worker longer than the heartbeat timeout', () => {
    const waited = { kind: 'freeze', lockWaitMs: 2_001 } as const;

    expect(verdictOn({ refusedTo: [STRUCK.id] }, waited).problems.join()).toMatch(/waited 2\.00 s for a lock/);
  });
});
