import { describe, expect, expectTypeOf, it } from 'vitest';
import { definePipeline, fanOut, type OutcomeOf, stage, type StageOf, type StateOf } from '../../src/core/pipeline.js';
import type { DecisionSaves } from '../../src/ports/decision.js';
import type { AnyStage, Stage, StageResult, Stages } from '../../src/ports/stage.js';
import type { brief, reviewed, several, spreadAll, spreadLast, straight } from '../support/tables.js';
import type { conversation, vectorIngest } from '../support/spec-tables.js';

const sweep = { every: '10s', staleAfter: '5s', stuckAfter: '15s' } as const;
const rescue = {
  budget: 3,
  backoff: ['2s'],
  budgetResetAfter: '24h',
  oldestRescued: '7d',
  exhausted: 'FAILED',
} as const;
const ends = { DONE: { ends: 'done' }, FAILED: { ends: 'failed' } } as const;
const work = { tries: 3, within: '10s', spent: 'leave' } as const;
const base = { name: 'typed', start: 'WORKING', sweep, cancelled: 'FAILED' } as const;
const WORKING = { does: stage('work', work), then: { done: 'DONE' } } as const;

// Each case is refused twice: by the compiler (`tsc` fails if it is not, for then the directive is unused) and at run time.
describe('the compiler, for the states of a table,', () => {
  it('refuses an unknown start', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue,
        // @ts-expect-error no such state
        start: 'NOWHERE',
        states: { WORKING, ...ends },
      }),
    ).toThrow("no state 'NOWHERE'");
  });

  it('refuses an unknown state for cancelled items', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue,
        // @ts-expect-error no such state
        cancelled: 'NOWHERE',
        states: { WORKING, ...ends },
      }),
    ).toThrow("no state 'NOWHERE'");
  });

  it('refuses an unknown target of an outcome', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue,
        states: {
          WORKING: {
            does: stage('work', work),
            then: {
              done: 'DONE',
              // @ts-expect-error no such state
              odd: 'NOWHERE',
            },
          },
          ...ends,
        },
      }),
    ).toThrow("no state 'NOWHERE'");
  });

  it('refuses an unknown target of a decision', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue,
        states: {
          WORKING: {
            awaits: 'reviewer',
            then: {
              approve: 'DONE',
              // @ts-expect-error no such state
              reject: 'NOWHERE',
            },
          },
          ...ends,
        },
      }),
    ).toThrow("no state 'NOWHERE'");
  });

  it('refuses a reason for an outcome that cannot be decided there', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue,
        states: {
          WORKING: {
            awaits: 'reviewer',
            then: { approve: 'DONE' },
            // @ts-expect-error no such outcome
            needsReason: ['reject'],
          },
          ...ends,
        },
      }),
    ).toThrow("asks for a reason for 'reject'");
  });

  it('refuses an unknown state after a rest', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue,
        states: {
          WORKING: {
            rests: 'backlog',
            then: {
              // @ts-expect-error no such state
              claimed: 'NOWHERE',
            },
          },
          ...ends,
        },
      }),
    ).toThrow("no state 'NOWHERE'");
  });

  it("refuses an unknown target of a stage's spent tries", () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue,
        states: {
          WORKING: {
            // @ts-expect-error no such state
            does: stage('work', { ...work, spent: { move: 'NOWHERE' } }),
            then: { done: 'DONE' },
          },
          ...ends,
        },
      }),
    ).toThrow("no state 'NOWHERE'");
  });

  it('refuses an unknown target of the spent tries of one stage among several', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue,
        states: {
          WORKING: {
            does: [
              stage('prepare', work),
              // @ts-expect-error no such state
              fanOut('spread', { tries: 3, within: '10s', width: 2, needs: 'all', spent: { move: 'NOWHERE' } }),
              stage('work', { ...work, spent: 'skip' }),
            ],
            then: { done: 'DONE' },
          },
          ...ends,
        },
      }),
    ).toThrow("no state 'NOWHERE'");
  });

  it('refuses an unknown state that a final state reopens', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue,
        states: {
          WORKING,
          DONE: {
            ends: 'done',
            // @ts-expect-error no such state
            reopens: 'NOWHERE',
          },
          FAILED: { ends: 'failed' },
        },
      }),
    ).toThrow("no state 'NOWHERE'");
  });

  it('refuses an unknown state for exhausted items', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue: {
          ...rescue,
          // @ts-expect-error no such state
          exhausted: 'NOWHERE',
        },
        states: { WORKING, ...ends },
      }),
    ).toThrow("no state 'NOWHERE'");
  });

  it('refuses an unknown state for items exhausted after one class of error', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue: {
          ...rescue,
          exhausted: {
            // @ts-expect-error no such state
            LLM_ERROR: 'NOWHERE',
            other: 'FAILED',
          },
        },
        states: { WORKING, ...ends },
      }),
    ).toThrow("no state 'NOWHERE'");
  });

  it('refuses an unknown state that a rescue moves the item to', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue: {
          ...rescue,
          // @ts-expect-error no such state
          resumesAt: 'NOWHERE',
        },
        states: { WORKING, ...ends },
      }),
    ).toThrow("no state 'NOWHERE'");
  });
});

describe('the compiler, for the other fields of a table,', () => {
  it('refuses an unknown class of error', () => {
    const table = definePipeline({
      ...base,
      rescue: {
        ...rescue,
        exhausted: {
          // @ts-expect-error no such class
          WEATHER_ERROR: 'FAILED',
          other: 'FAILED',
        },
      },
      states: { WORKING, ...ends },
    });
    expect(table.name).toBe('typed');
  });

  it('refuses states of exhaustion by class without a state for the other classes', () => {
    expect(() =>
      definePipeline({
        ...base,
        rescue: {
          ...rescue,
          // @ts-expect-error `other` is missing
          exhausted: { LLM_ERROR: 'FAILED' },
        },
        states: { WORKING, ...ends },
      }),
    ).toThrow("no state 'undefined'");
  });

  it('refuses a time without a unit', () => {
    // @ts-expect-error no unit
    const work10 = stage('work', { ...work, within: '10' });
    expect(() =>
      definePipeline({ ...base, rescue, states: { WORKING: { does: work10, then: { done: 'DONE' } }, ...ends } }),
    ).toThrow("work.within is '10'");
  });

  it('refuses to save something with a decision that the table does not have', () => {
    const save = () => Promise.resolve({});
    const saves: DecisionSaves<typeof reviewed>[] = [
      { SECOND_REVIEW: { approve: save } },
      // @ts-expect-error no such outcome there
      { NEEDS_REVIEW: { approve: save } },
      // @ts-expect-error nobody decides there
      { JUDGING: { pass: save } },
    ];
    expect(saves).toHaveLength(3);
  });

  it('refuses a reason to rest that no diagnosis knows', () => {
    const table = definePipeline({
      ...base,
      rescue,
      states: {
        WORKING: {
          // @ts-expect-error no such reason
          rests: 'tired',
          then: { picked: 'DONE' },
        },
        ...ends,
      },
    });
    expect(table.name).toBe('typed');
  });

  it('refuses a fan-out that is skipped or short', () => {
    // @ts-expect-error a fan-out names where it fails to
    const skipped = fanOut('spread', { tries: 3, within: '10s', width: 2, needs: 'all', spent: 'skip' });
    const wide = { tries: 3, within: '10s', width: 2, needs: 'all', spent: { move: 'FAILED' } } as const;
    // @ts-expect-error a fan-out is never short
    const short = fanOut('spread', { ...wide, short: true });
    expect([skipped.fanOut, short.fanOut]).toEqual([
      { width: 2, needs: 'all' },
      { width: 2, needs: 'all' },
    ]);
  });
});

describe('the compiler, given a table,', () => {
  it('knows its states and stages', () => {
    expectTypeOf<StateOf<typeof straight>>().toEqualTypeOf<
      'READING' | 'CHECKING' | 'WRITING' | 'DONE' | 'FAILED' | 'CANCELLED'
    >();
    expectTypeOf<StageOf<typeof straight>>().toEqualTypeOf<'read' | 'check' | 'write'>();
    expectTypeOf<StageOf<typeof several>>().toEqualTypeOf<'extract' | 'enrich' | 'judge' | 'remember' | 'summarise'>();
    expectTypeOf<StageOf<typeof spreadLast>>().toEqualTypeOf<'list' | 'copy' | 'split' | 'index'>();
    expectTypeOf<(typeof straight)['name']>().toEqualTypeOf<'straight'>();
  });

  it("knows the outcomes of a state's only stage", () => {
    expectTypeOf<OutcomeOf<typeof straight, 'read'>>().toEqualTypeOf<'done' | 'empty'>();
    expectTypeOf<OutcomeOf<typeof straight, 'check'>>().toEqualTypeOf<'good' | 'bad'>();
    expectTypeOf<OutcomeOf<typeof brief, 'look'>>().toEqualTypeOf<'known' | 'other'>();
    expectTypeOf<OutcomeOf<typeof reviewed, 'judge'>>().toEqualTypeOf<'pass' | 'concerns' | 'fail'>();
  });

  it('lets only the last of several stages pick the outcome', () => {
    expectTypeOf<OutcomeOf<typeof spreadAll, 'prepare'>>().toEqualTypeOf<'done'>();
    expectTypeOf<OutcomeOf<typeof spreadAll, 'finish'>>().toEqualTypeOf<'done' | 'partial'>();
    expectTypeOf<OutcomeOf<typeof conversation, 'extraction'>>().toEqualTypeOf<'done'>();
    expectTypeOf<OutcomeOf<typeof vectorIngest, 'prepareChunks'>>().toEqualTypeOf<'done'>();
    expectTypeOf<OutcomeOf<typeof vectorIngest, 'createStac'>>().toEqualTypeOf<'done' | 'partial'>();
  });

  it('gives a unit no outcome but done', () => {
    expectTypeOf<OutcomeOf<typeof spreadAll, 'upload'>>().toEqualTypeOf<'done'>();
    expectTypeOf<OutcomeOf<typeof spreadLast, 'copy'>>().toEqualTypeOf<'done'>();
    expectTypeOf<OutcomeOf<typeof spreadLast, 'index'>>().toEqualTypeOf<'done'>();
  });
});

const done = async (): Promise<StageResult<'done'>> => ({ outcome: 'done' });

describe('the compiler checks stages against their table', () => {
  it('accepts a stage for each row', () => {
    const stages: Stages<typeof straight> = {
      read: async () => ({ outcome: 'empty', note: { pages: 0 } }),
      check: async ({ attempt }) => ({ outcome: attempt > 1 ? 'good' : 'bad' }),
      write: done,
    };
    const any: Readonly<Record<string, AnyStage>> = stages;
    expect(Object.keys(any)).toEqual(['read', 'check', 'write']);
  });

  it('names a missing stage, and one too many', () => {
    // @ts-expect-error `write` is missing
    const missing: Stages<typeof straight> = { read: done, check: async () => ({ outcome: 'good' }) };
    const surplus: Stages<typeof spreadAll> = {
      prepare: done,
      upload: done,
      finish: done,
      // @ts-expect-error no such stage
      polish: done,
    };
    expect([missing, surplus]).toHaveLength(2);
  });

  it('refuses an outcome that the row does not name', () => {
    // @ts-expect-error CHECKING has no such outcome
    const check: Stage<typeof straight, 'check'> = async () => ({ outcome: 'done' });
    // @ts-expect-error only the last stage of a state picks its outcome
    const prepare: Stage<typeof spreadAll, 'prepare'> = async () => ({ outcome: 'partial' });
    // @ts-expect-error a unit does not pick the outcome
    const upload: Stage<typeof spreadAll, 'upload'> = async () => ({ outcome: 'partial' });
    expect([check, prepare, upload]).toHaveLength(3);
  });

  it('refuses a stage of no row', () => {
    // @ts-expect-error no such stage
    const polish: Stage<typeof straight, 'polish'> = done;
    expect(polish).toBe(done);
  });
});
