import { describe, expect, it } from 'vitest';
import type { Pipeline, StageRow, StateRow } from '../../src/core/pipeline.js';
import { rowProblems } from '../../src/core/sound-row.js';
import type { Span } from '../../src/core/span.js';
import { straight } from '../support/tables.js';

const table: Pipeline = straight;

function problemsWith(change: Partial<Pipeline>): string[] {
  return rowProblems({ ...table, ...change });
}

function problemsOfState(row: StateRow, state = 'READING'): string[] {
  return problemsWith({ states: { ...table.states, [state]: row } });
}

function problemsOfStage(change: Partial<StageRow>): string[] {
  const read: StageRow = { stage: 'read', tries: 3, within: '10s', spent: 'leave', ...change };
  return problemsOfState({ does: read, then: { done: 'DONE' } });
}

it('finds nothing wrong with a sound table', () => {
  expect(rowProblems(table)).toEqual([]);
});

describe('a name', () => {
  it.each(['', 'Vector', 'vector ingest', 'vector:ingest', 'vector_ingest', 'vector-', '-vector', '9lives', 'a/b'])(
    'refuses %j as a pipeline, because workflow ids and task queues contain the name',
    (name) => {
      expect(problemsWith({ name })).toEqual([`'${name}' can't be the name of a pipeline`]);
    },
  );

  it.each(['maintenance', 'jobs', 'jobs-figures', 'stats', 'discovery', 'enrichment'])(
    'of a pipeline is not %s, a task queue of the engine',
    (name) => {
      expect(problemsWith({ name })).toEqual([
        `'${name}' can't be the name of a pipeline: the engine has a task queue of this name`,
      ]);
    },
  );

  it.each(['', 'TWO WORDS', 'A-B', 'A:B', '1ST', '[*]', 'A→B', 'a.b', '_A', 'state', 'NOTE', 'Default', 'toString'])(
    'refuses %j as a state, because the diagram would break',
    (name) => {
      expect(problemsOfState({ ends: 'done' }, name)).toEqual([`'${name}' can't be the name of a state`]);
    },
  );

  it.each(['', 'Read', 'read it', 'read-it', 'read:it', '__read', 'nextStep', 'endRun', 'constructor'])(
    'refuses %j as a stage, because the name is an activity and part of a key',
    (stage) => {
      expect(problemsOfStage({ stage })).toContain(`'${stage}' can't be the name of a stage`);
    },
  );

  it.each(['', 'Done', 'all done', 'all-done', '2nd', 'valueOf'])('refuses %j as an outcome', (outcome) => {
    const row = { awaits: 'reviewer' as const, then: { [outcome]: 'DONE' } };
    expect(problemsOfState(row)).toEqual([`'${outcome}' can't be the name of an outcome`]);
  });

  it.each<[string, (word: string) => string[]]>([
    ['an outcome', (word) => problemsOfState({ awaits: 'reviewer', then: { yes: 'DONE' }, triggers: { yes: word } })],
    ['spent tries', (word) => problemsOfStage({ spent: { move: 'FAILED', trigger: word } })],
    ['exhaustion', (word) => problemsWith({ rescue: { ...table.rescue, triggers: { DB_ERROR: word } } })],
  ])('in the audit trail (%s) is a word', (_where, problemsOf) => {
    for (const word of ['', 'two words', 'a:b', 'Tier1', 'a\nb']) {
      expect(problemsOf(word)).toEqual([`'${word}' can't be the name of a trigger`]);
    }
    for (const word of ['admin', 'read1-timeout', 'judge-unavailable']) expect(problemsOf(word)).toEqual([]);
  });

  it('refuses a table or a column whose name is unsafe inside a statement', () => {
    for (const word of ['', 'e-mail', 'email; DROP TABLE items', 'E', 'a"b']) {
      expect(problemsWith({ tells: { table: 'letters', column: word } })).toEqual([
        `'${word}' can't be the name of a column`,
      ]);
    }
    expect(problemsWith({ tells: { table: 'letters', column: 'email' } })).toEqual([]);
  });

  it('may be spelled like the specification’s names', () => {
    const row: StateRow = {
      does: { stage: 'memory_update', tries: 1, within: '1s', spent: 'leave' },
      then: { done: 'DONE' },
    };
    expect(problemsOfState(row, 'READING1_AGAIN')).toEqual([]);
    expect(problemsOfState(row, 'processing')).toEqual([]);
  });
});

describe('a state', () => {
  const only = "state 'READING' must do, await, rest or end, and one of them only";

  it('is of one kind only', () => {
    const read: StageRow = { stage: 'read', tries: 3, within: '10s', spent: 'leave' };
    const then = { done: 'DONE' };
    expect(problemsOfState({ does: read, awaits: 'reviewer', then })).toEqual([only]);
    expect(problemsOfState({ awaits: 'reviewer', rests: 'backlog', then })).toEqual([only]);
    expect(problemsOfState({ ends: 'done', awaits: 'reviewer', then })).toEqual([only]);
    expect(problemsOfState({ then } as unknown as StateRow)).toEqual([only]);
  });

  it('must have a stage if it does work', () => {
    expect(problemsOfState({ does: [], then: { done: 'DONE' } })).toEqual(["state 'READING' does nothing"]);
  });

  it.each([0, -1, 1.5, Number.NaN, Infinity])('does not admit %d items at once', (admits) => {
    const row = { awaits: 'reviewer' as const, then: { yes: 'DONE' }, admits };
    expect(problemsOfState(row)).toEqual(["state 'READING' must admit at least one item"]);
  });

  it('has words for its own outcomes only', () => {
    const row = { awaits: 'reviewer' as const, then: { yes: 'DONE' }, triggers: { no: 'refused' } };
    expect(problemsOfState(row)).toEqual(["state 'READING' has a trigger for 'no', no outcome of it"]);
  });

  it('asks for a reason for its own outcomes only', () => {
    const row = { awaits: 'reviewer' as const, then: { yes: 'DONE' }, needsReason: ['yes', 'no'] };
    expect(problemsOfState(row)).toEqual(["state 'READING' asks for a reason for 'no', no outcome of it"]);
  });
});

describe('a stage', () => {
  it.each([0, -1, 2.5, Number.NaN, Infinity])('is not tried %d times', (tries) => {
    expect(problemsOfStage({ tries })).toEqual(["stage 'read' needs at least one try"]);
  });

  it.each([0, -4, 1.5, 101, Infinity])('does not fan out %d wide', (width) => {
    const problems = problemsOfStage({ fanOut: { width, needs: 'all' }, spent: { move: 'FAILED' } });
    expect(problems).toEqual(["stage 'read' needs a width from 1 to 100, the units of a window"]);
  });

  it('fans out as wide as a window of units at most', () => {
    expect(problemsOfStage({ fanOut: { width: 100, needs: 'all' }, spent: { move: 'FAILED' } })).toEqual([]);
  });

  const times: [string, (span: Span) => Partial<StageRow>][] = [
    ['within', (within) => ({ within })],
    ['beats', (beats) => ({ beats })],
    ['progressWithin', (progressWithin) => ({ progressWithin })],
    ['first', (first) => ({ backoff: { first, max: '10s' } })],
    ['max', (max) => ({ backoff: { first: '1s', max } })],
  ];

  it.each(times)('has no %s that is no time, nothing, or too long for a timer', (field, with_) => {
    expect(problemsOfStage(with_('-5s'))).toEqual([`read.${field} is '-5s', which is not a span of time such as 15s`]);
    expect(problemsOfStage(with_('0s'))).toEqual([`read.${field} must be longer than nothing`]);
    expect(problemsOfStage(with_('25d'))).toEqual([`read.${field} is longer than 24d`]);
  });

  it('has no heartbeat timeout so short that a lock of a frozen worker outlives it', () => {
    expect(problemsOfStage({ beats: '1999ms' })).toEqual([
      'read.beats is 1999ms; 2s is the shortest that tells a frozen worker from one that waits',
    ]);
    expect(problemsOfStage({ beats: '2s' })).toEqual([]);
  });

  it('may take as long as a timer can run', () => {
    expect(problemsOfStage({ within: '24d' })).toEqual([]);
  });

  it('does not wait longer at first than at most', () => {
    const backoff = { first: '2m', max: '1m' } as const;
    expect(problemsOfStage({ backoff })).toEqual(["stage 'read' waits longer at first than at most"]);
  });

  it('may not be silent for longer than it may take', () => {
    expect(problemsOfStage({ progressWithin: '11s' })).toEqual([
      "stage 'read' may be silent for longer than it may take",
    ]);
    expect(problemsOfStage({ progressWithin: '10s' })).toEqual([]);
  });

  it('must not beat, report progress, fan out or take long if it is short', () => {
    const plain = "stage 'read' is short, so it neither beats nor reports progress nor fans out";
    expect(problemsOfStage({ short: true })).toEqual([]);
    expect(problemsOfStage({ short: true, beats: '2s' })).toEqual([plain]);
    expect(problemsOfStage({ short: true, progressWithin: '2s' })).toEqual([plain]);
    expect(problemsOfStage({ short: true, fanOut: { width: 2, needs: 'any' } })).toEqual([plain]);
    expect(problemsOfStage({ short: true, within: '11s' })).toEqual(["stage 'read' is short, yet may take 11s"]);
  });
});

describe('the sweep', () => {
  it.each(['every', 'staleAfter', 'stuckAfter'] as const)('has a time for %s', (field) => {
    expect(problemsWith({ sweep: { ...table.sweep, [field]: '0s' } })).toEqual([
      `sweep.${field} must be longer than nothing`,
    ]);
    expect(problemsWith({ sweep: { ...table.sweep, [field]: 'soon' } })[0]).toContain(`sweep.${field} is 'soon'`);
  });

  it('warns no later than it acts', () => {
    const sweep = { every: '10s', staleAfter: '20s', stuckAfter: '15s' } as const;
    expect(problemsWith({ sweep })).toEqual(['an item would be stuck before it is stale']);
    expect(problemsWith({ sweep: { ...sweep, staleAfter: '15s' } })).toEqual([]);
  });
});

describe('the rescue budget', () => {
  function problemsOfRescue(change: Partial<Pipeline['rescue']>): string[] {
    return problemsWith({ rescue: { ...table.rescue, ...change } });
  }

  it.each([-1, 1.5, Number.NaN, Infinity])('is not %d', (budget) => {
    expect(problemsOfRescue({ budget })).toEqual(['rescue.budget must be a whole number, 0 or more']);
  });

  it('may be zero, and then needs no waits', () => {
    expect(problemsOfRescue({ budget: 0, backoff: [] })).toEqual([]);
    expect(problemsOfRescue({ backoff: [] })).toEqual(['rescue.backoff must say how long to wait after a rescue']);
  });

  it('refuses times that are not spans', () => {
    expect(problemsOfRescue({ backoff: ['2s', '0s'] })).toEqual(['rescue.backoff must be longer than nothing']);
    expect(problemsOfRescue({ oldestRescued: '0d' })).toEqual(['rescue.oldestRescued must be longer than nothing']);
    expect(problemsOfRescue({ budgetResetAfter: '0d' })).toEqual([
      'rescue.budgetResetAfter must be longer than nothing',
    ]);
  });

  it('is not forgotten before it can be spent: the item would be rescued for ever', () => {
    const problems = problemsOfRescue({ backoff: ['2s', '1h'], budgetResetAfter: '1h' });
    expect(problems).toEqual(['the rescue budget would be forgotten before it can be spent']);
  });
});
