import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/start/parts/from-domains.js';
import { deathsOf } from '../../../src/core/deaths.js';
import { stageOf } from '../../../src/core/machine.js';
import { canary } from '../../../src/domains/canary/table.js';
import { pipelinesOf } from '../../../src/start/parts/pipelines.js';

describe('the heartbeat timeout that an operator sets', () => {
  it('holds for every stage, those of a fan-out too, and changes nothing else', () => {
    const { canary: table } = pipelinesOf(loadConfig({ CANARY_BEATS: '7s' }));

    if (!table) throw new Error('there is no canary');
    for (const stage of ['first', 'spread', 'second', 'third']) {
      expect(stageOf(table, stage).row).toEqual({ ...stageOf(canary, stage).row, beats: '7s' });
    }
    expect(pipelinesOf(loadConfig({}))['canary']?.states).toEqual(canary.states);
  });
});

describe('the numbers of deaths that an operator sets', () => {
  it('hold for every pipeline', () => {
    const tables = Object.values(pipelinesOf(loadConfig({ SUSPECT_DEATHS: '1', POISON_DEATHS: '5' })));
    expect(tables.map(deathsOf)).toEqual(tables.map(() => ({ suspect: 1, poison: 5 })));
  });

  it('are without a setting those of a table without settings', () => {
    expect(pipelinesOf(loadConfig({}))['canary']?.deaths).toEqual(deathsOf(canary));
  });
});

describe('the options of stages that an operator sets', () => {
  it('hold for the stages that are named, and for no others', () => {
    const { canary: table } = pipelinesOf(
      loadConfig({
        CANARY_STAGE_TRIES: 'first=7, spread=9',
        CANARY_STAGE_WITHIN: 'first=3m',
        CANARY_STAGE_BACKOFF: 'second=4s-40s',
      }),
    );

    if (!table) throw new Error('there is no canary');
    expect(stageOf(table, 'first').row).toEqual({ ...stageOf(canary, 'first').row, tries: 7, within: '3m' });
    expect(stageOf(table, 'spread').row).toEqual({ ...stageOf(canary, 'spread').row, tries: 9 });
    expect(stageOf(table, 'second').row).toEqual({
      ...stageOf(canary, 'second').row,
      backoff: { first: '4s', max: '40s' },
    });
    expect(stageOf(table, 'third').row).toEqual(stageOf(canary, 'third').row);
  });

  it.each([
    [
      { CANARY_STAGE_WITHIN: 'first=3s' },
      "CANARY_STAGE_WITHIN: expected to agree with the other limits of the pipeline, got 'first=3s': " +
        "stage 'first' may be silent for longer than it may take",
    ],
    [
      { CANARY_STAGE_WITHIN: 'first=0s' },
      "CANARY_STAGE_WITHIN: expected to agree with the other limits of the pipeline, got 'first=0s': " +
        'first.within must be longer than nothing',
    ],
    [
      { CANARY_BEATS: '20s', CANARY_STAGE_WITHIN: 'first=10s', CANARY_STAGE_TRIES: 'first=2' },
      "CANARY_BEATS, CANARY_STAGE_WITHIN: expected to agree with the other limits of the pipeline, got '20s', 'first=10s': " +
        "stage 'first' may take 10s, less than the 20s after which its worker counts as frozen",
    ],
    [
      { CANARY_STALE_AFTER: '20s' },
      "CANARY_STALE_AFTER: expected to agree with the other limits of the pipeline, got '20s': " +
        'an item would be stuck before it is stale',
    ],
    [
      { SUBMISSION_STAGE_WITHIN: 'checkVendor=11s' },
      "SUBMISSION_STAGE_WITHIN: expected to agree with the other limits of the pipeline, got 'checkVendor=11s': " +
        "stage 'checkVendor' is short, yet may take 11s",
    ],
  ])(
    'are refused at boot where they contradict other limits, with the names of the variables: %j',
    (given, problem) => {
      expect(() => loadConfig(given)).toThrow(problem);
    },
  );

  it.each([
    ['CANARY_STAGE_TRIES', 'fourth=2'],
    ['CANARY_STAGE_TRIES', 'first=0'],
    ['CANARY_STAGE_TRIES', 'first'],
    ['CANARY_STAGE_WITHIN', 'first=soon'],
    ['CANARY_STAGE_BACKOFF', 'first=20s-5s'],
    ['CANARY_STAGE_BACKOFF', 'first=5s'],
  ])('are refused with the names of the stages: %s=%s', (variable, value) => {
    expect(() => loadConfig({ [variable]: value })).toThrow(
      new RegExp(
        `${variable}: expected name=value .* one of first, spread, second, third, each value .*got '${value}'`,
      ),
    );
  });
});
