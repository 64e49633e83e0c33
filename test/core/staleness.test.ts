import { describe, expect, it } from 'vitest';
import type { RunningTask, WaitingTask } from '../../src/core/diagnosis.js';
import { silenceOf, stalenessOf } from '../../src/core/staleness.js';
import { ago, facts, type Given } from '../support/item-facts.js';

const beating: RunningTask = {
  ...{ stage: 'upload', unit: 'chunk-1', attempt: 1, worker: 'worker-1' },
  ...{ startedAt: ago(900), beatAt: ago(2), workerGoneAt: null },
};
const next: WaitingTask = {
  ...{
    stage: 'write',
    unit: '',
    attempt: 0,
    crashes: 0,
    placeAskedAt: null,
    askedBefore: null,
    retryAt: null,
    error: null,
  },
};

/** The sample table warns after three minutes. */
const silent = { beatAt: ago(181) };

describe('the warning that an item is stale', () => {
  it('says since when, in which stage, and why', () => {
    const given = facts({ item: silent, waiting: next, engine: 'alive', pollers: 0 });
    expect(stalenessOf(given)).toMatchObject({
      stale: true,
      since: ago(181),
      stage: 'write',
      message: 'No worker of sample asks for work; its last sign of life was 3 min ago.',
      diagnosis: { reason: 'no_worker' },
    });
  });

  it.each<[string, Given]>([
    ['that has just beaten', { item: { beatAt: ago(179) } }],
    ['whose units beat, though its own row is old', { item: silent, running: beating }],
    ['that has ended', { item: { ...silent, state: 'finished', endedAt: ago(181) } }],
    ['that awaits a decision', { item: { ...silent, state: 'review' } }],
    ['that is paused', { item: { ...silent, pausedUntil: 'infinity' } }],
    ['that awaits its upload', { item: { ...silent, state: 'waiting', started: false, startAfter: null } }],
    ['whose pipeline this version does not know', { item: silent, pipeline: undefined }],
  ])('is not given of one %s', (_, given) => {
    expect(stalenessOf(facts(given))).toBeNull();
  });

  it('names the stage that fell silent', () => {
    const frozen = { ...beating, beatAt: ago(200) };
    expect(stalenessOf(facts({ item: { beatAt: ago(300) }, running: frozen }))).toMatchObject({
      since: ago(200),
      stage: 'upload',
      diagnosis: { reason: 'silent_worker' },
    });
  });

  it('is given for a parked item, which only a person drives on', () => {
    expect(stalenessOf(facts({ item: { ...silent, parkedAt: ago(60) } }))).toMatchObject({ stage: null });
  });

  it('comes at the very moment the table names', () => {
    const at = (seconds: number) => stalenessOf(facts({ item: { beatAt: ago(seconds) } })) !== null;
    expect([179.999, 180].map(at)).toEqual([false, true]);
  });
});

describe('the silence of an item', () => {
  it('says from when on the item is stale, also before it is', () => {
    const given = facts({ item: { beatAt: ago(60) }, waiting: next });
    expect(silenceOf(given, { reason: 'backlog' })).toEqual({ since: ago(60), staleAt: ago(-120) });
  });

  it('is not measured where it is expected', () => {
    expect(silenceOf(facts({ item: silent }), { reason: 'paused' })).toBeNull();
  });
});
