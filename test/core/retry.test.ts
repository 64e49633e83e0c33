import { describe, expect, it } from 'vitest';
import type { Facts, ItemFacts, RunningTask } from '../../src/core/diagnosis.js';
import { retryDecision } from '../../src/core/retry.js';
import type { RunLook } from '../../src/core/run-look.js';
import { canary } from '../../src/domains/canary/table.js';

const now = new Date('2030-01-01T12:00:00Z');
const ago = (ms: number) => new Date(now.getTime() - ms);

function facts(item: Partial<ItemFacts>, running: Partial<RunningTask> | null = null): Facts {
  return {
    now,
    pipeline: canary,
    item: {
      ...{
        pipeline: 'canary',
        state: 'FIRST',
        beatAt: ago(60_000),
        started: true,
        startAfter: null,
        startTries: 0,
        acceptedAt: null,
      },
      ...{
        runEndedAt: null,
        rescues: 0,
        lastRescueAt: null,
        nextRescueAfter: null,
        pausedUntil: null,
        pauseReason: null,
        parkedAt: null,
      },
      ...{ parkedWhy: null, endedAt: null, endReason: null },
      ...item,
    },
    running: running && {
      ...{ stage: 'first', unit: '', attempt: 1, worker: 'w', startedAt: ago(60_000), beatAt: ago(0) },
      workerGoneAt: null,
      ...running,
    },
    waiting: null,
    hold: null,
  };
}

const alive: RunLook = { is: 'alive', wedgedBy: null };
const wedged: RunLook = { is: 'alive', wedgedBy: 'boom' };
const gone: RunLook = { is: 'gone', how: 'terminated' };
const never: RunLook = { is: 'gone', how: 'never_existed' };
const unknown: RunLook = { is: 'unknown' };
const due = { started: false, startAfter: ago(1_000) };

describe('a retry that a person asks for', () => {
  it.each<[string, Facts, RunLook | undefined, ReturnType<typeof retryDecision>]>([
    ['its worker beats', facts({}, {}), undefined, 'refuse'],
    ['its worker beats, though its run is gone', facts({}, {}), gone, 'refuse'],
    ['its worker beats, though it is parked', facts({ parkedAt: now }, {}), undefined, 'refuse'],
    ['its worker last beat just in time', facts({}, { beatAt: ago(2_000) }), undefined, 'refuse'],
    ['its worker is silent', facts({}, { beatAt: ago(2_001) }), undefined, 'ask'],
    ['its worker is known to be gone', facts({}, { workerGoneAt: now }), undefined, 'ask'],
    ['it is parked', facts({ parkedAt: now }), undefined, 'rescue'],
    ['it waits for something that is no run', facts({ started: false }), undefined, 'refuse'],
    ['its run said that it ended', facts({ runEndedAt: now }), undefined, 'rescue'],
    ['nobody knows', facts({}), undefined, 'ask'],
    ['Temporal does not know either', facts({}), unknown, 'ask'],
    ['its run lives', facts({}), alive, 'refuse'],
    ['its run lives and can do nothing', facts({}), wedged, 'rescue'],
    ['its run was ended', facts({}), gone, 'rescue'],
    ['its run vanished', facts({}), never, 'rescue'],
    ['its run was never started and will be', facts(due), never, 'refuse'],
    ['its run was ended before it began', facts(due), gone, 'rescue'],
    ['its run is started and waits for a worker', facts(due), alive, 'refuse'],
  ])('when %s', (_, known, look, decision) => {
    expect(retryDecision(known, look)).toBe(decision);
  });
});
