import { describe, expect, it } from 'vitest';
import {
  afterStage,
  claimedState,
  type Edge,
  edgesOf,
  exhaustedState,
  exhaustedTrigger,
  fanOutFedBy,
  findStage,
  hasShortStage,
  isAwaits,
  isDoes,
  isEnd,
  isLegalMove,
  isLimited,
  isRests,
  rescuedState,
  retryStates,
  rowOf,
  spentTriggerOf,
  stageOf,
  stagesIn,
  stateNamesOf,
  targetOf,
  triggerOf,
} from '../../src/core/machine.js';
import type { Pipeline } from '../../src/core/pipeline.js';
import { canary } from '../../src/domains/canary/table.js';
import { conversation, file } from '../support/spec-tables.js';
import {
  admitting,
  batched,
  reopened,
  resting,
  reviewed,
  several,
  spreadAll,
  spreadLast,
  straight,
} from '../support/tables.js';

/** `FROM>TO word` of the moves of one kind. */
function moves(pipeline: Pipeline, via: Edge['via']): string[] {
  return edgesOf(pipeline)
    .filter((edge) => edge.via === via)
    .map(({ from, to, trigger }) => `${from}>${to} ${trigger}`);
}

describe('a look-up in a table', () => {
  it('finds a row, and refuses an unknown state', () => {
    expect(rowOf(straight, 'DONE')).toEqual({ ends: 'done' });
    expect(() => rowOf(straight, 'NOWHERE')).toThrow("pipeline 'straight' has no state 'NOWHERE'");
    expect(() => rowOf(straight, 'constructor')).toThrow(RangeError);
  });

  it('tells the four kinds of row apart', () => {
    const kinds = ['WORKING', 'DONE'].map((state) => rowOf(reopened, state));
    const [awaits, rests] = [rowOf(reviewed, 'NEEDS_REVIEW'), rowOf(resting, 'queued')];
    expect([...kinds, awaits, rests].map((row) => [isDoes, isEnd, isAwaits, isRests].map((is) => is(row)))).toEqual([
      [true, false, false, false],
      [false, true, false, false],
      [false, false, true, false],
      [false, false, false, true],
    ]);
  });

  it('lists the stages of a state in order, one or several', () => {
    const names = (pipeline: Pipeline, state: string) => stagesIn(rowOf(pipeline, state)).map((each) => each.stage);
    expect(names(straight, 'READING')).toEqual(['read']);
    expect(names(several, 'WORKING')).toEqual(['extract', 'enrich', 'judge', 'remember', 'summarise']);
    expect(names(resting, 'queued')).toEqual([]);
    expect(names(straight, 'DONE')).toEqual([]);
  });

  it('finds a stage in every state', () => {
    expect(stageOf(several, 'judge')).toMatchObject({ state: 'WORKING', row: { stage: 'judge', tries: 3 } });
    expect(findStage(several, 'fly')).toBeUndefined();
    expect(() => stageOf(several, 'fly')).toThrow("pipeline 'several' has no stage 'fly'");
  });

  it('finds where an outcome leads, and ignores inherited names', () => {
    const row = rowOf(reviewed, 'NEEDS_REVIEW');
    expect(targetOf(row, 'escalate')).toBe('SECOND_REVIEW');
    for (const outcome of ['approve', '', 'constructor', 'toString', '__proto__']) {
      expect(targetOf(row, outcome)).toBeUndefined();
    }
    expect(targetOf(rowOf(reviewed, 'REJECTED'), 'escalate')).toBeUndefined();
  });

  it('knows which resting states end with a claim', () => {
    expect(claimedState(rowOf(resting, 'queued'))).toBe('converting');
    expect(claimedState(rowOf(resting, 'registered'))).toBeUndefined();
    expect(claimedState(rowOf(batched, 'active'))).toBeUndefined();
    expect(claimedState(rowOf(batched, 'processing'))).toBeUndefined();
  });

  it('knows which states may be full', () => {
    const limited = (pipeline: Pipeline) => stateNamesOf(pipeline).filter((state) => isLimited(rowOf(pipeline, state)));
    expect(limited(admitting)).toEqual(['HEATING', 'COOLING']);
    expect(limited(straight)).toEqual([]);
  });
});

describe("what follows a stage's outcome", () => {
  it('is a move, with the trigger of the row', () => {
    const read = { state: 'READING', stage: 'read' };
    expect(afterStage(straight, { ...read, outcome: 'done' })).toEqual({
      is: 'move',
      state: 'CHECKING',
      trigger: 'read-done',
    });
    expect(afterStage(straight, { ...read, outcome: 'empty' })).toEqual({
      is: 'move',
      state: 'DONE',
      trigger: 'nothing-to-do',
    });
  });

  it('is the next stage of the same state', () => {
    const after = afterStage(several, { state: 'WORKING', stage: 'extract', outcome: 'done' });
    expect(after).toMatchObject({ is: 'stage', stage: { stage: 'enrich' } });
    const last = afterStage(several, { state: 'WORKING', stage: 'summarise', outcome: 'done' });
    expect(last).toEqual({ is: 'move', state: 'DONE', trigger: 'summarise-done' });
  });

  it.each(['good', '', 'constructor', 'toString', '__proto__'])(
    'is an error for %j, which the row does not name',
    (outcome) => {
      expect(() => afterStage(straight, { state: 'READING', stage: 'read', outcome })).toThrow(
        `'${outcome}' is not an outcome of 'read' in 'READING'`,
      );
    },
  );

  it('is the state’s first stage if the state no longer has the stage', () => {
    const after = afterStage(straight, { state: 'READING', stage: 'check', outcome: 'done' });
    expect(after).toMatchObject({ is: 'stage', stage: { stage: 'read' } });
    for (const state of ['NEEDS_REVIEW', 'REJECTED']) {
      expect(() => afterStage(reviewed, { state, stage: 'judge', outcome: 'reject' })).toThrow(RangeError);
    }
    expect(() => afterStage(resting, { state: 'queued', stage: 'convert', outcome: 'claimed' })).toThrow(RangeError);
  });
});

describe('words of the audit trail', () => {
  it('are the mover and the outcome, unless the table says otherwise', () => {
    expect(triggerOf(rowOf(reviewed, 'SECOND_REVIEW'), 'reviewer', 'reject')).toBe('reviewer-reject');
    expect(triggerOf(rowOf(reviewed, 'SECOND_REVIEW'), 'reviewer', 'approve')).toBe('accepted');
    expect(triggerOf(rowOf(straight, 'DONE'), 'x', 'y')).toBe('x-y');
  });

  it('name the stage when its tries are spent, unless the table has another word', () => {
    expect(spentTriggerOf(stageOf(straight, 'read').row)).toBe('read-failed');
    expect(spentTriggerOf(stageOf(straight, 'write').row)).toBe('disk-full');
    expect(spentTriggerOf(stageOf(several, 'judge').row)).toBe('judge-failed');
  });

  it('may name exhaustion by the class of the last error', () => {
    expect(exhaustedTrigger(reviewed, 'JUDGING', null)).toBe('stuck-exhausted');
    expect(exhaustedTrigger(reviewed, 'JUDGING', 'DB_ERROR')).toBe('stuck-exhausted');
    expect(exhaustedTrigger(reviewed, 'JUDGING', 'LLM_ERROR')).toBe('judge-unavailable');
    expect(exhaustedTrigger(straight, 'READING', 'LLM_ERROR')).toBe('stuck-exhausted');
  });
});

describe('units belong to the fan-out that follows', () => {
  it('in the same state', () => {
    expect(fanOutFedBy(spreadAll, { state: 'PROCESSING', stage: 'prepare', outcome: 'done' })).toBe('upload');
    expect(fanOutFedBy(spreadAll, { state: 'PROCESSING', stage: 'upload', outcome: 'done' })).toBeUndefined();
    expect(fanOutFedBy(spreadAll, { state: 'PROCESSING', stage: 'finish', outcome: 'done' })).toBeUndefined();
  });

  it('in the state that the outcome leads to', () => {
    expect(fanOutFedBy(spreadLast, { state: 'LISTING', stage: 'list', outcome: 'done' })).toBe('copy');
    expect(fanOutFedBy(spreadLast, { state: 'LISTING', stage: 'list', outcome: 'none' })).toBeUndefined();
    expect(fanOutFedBy(spreadLast, { state: 'LISTING', stage: 'list', outcome: 'odd' })).toBeUndefined();
    expect(fanOutFedBy(several, { state: 'WORKING', stage: 'summarise', outcome: 'odd' })).toBeUndefined();
    expect(fanOutFedBy(canary, { state: 'FIRST', stage: 'first', outcome: 'split' })).toBe('spread');
  });
});

describe('exhaustion', () => {
  it('leads to one state, or depends on the last error', () => {
    expect(exhaustedState(straight, 'READING', 'LLM_ERROR')).toBe('FAILED');
    expect(exhaustedState(reviewed, 'JUDGING', 'LLM_ERROR')).toBe('NEEDS_REVIEW');
    expect(exhaustedState(reviewed, 'JUDGING', 'UNKNOWN')).toBe('REJECTED');
    expect(exhaustedState(reviewed, 'JUDGING', null)).toBe('REJECTED');
  });

  it('is the way out of every live state but those that wait for a person', () => {
    expect(moves(reviewed, 'exhaustion')).toEqual([
      'JUDGING>REJECTED stuck-exhausted',
      'JUDGING>NEEDS_REVIEW judge-unavailable',
      'PUBLISHING>REJECTED stuck-exhausted',
    ]);
  });
});

describe('a rescue', () => {
  it('leaves the item in its state if the table names no other', () => {
    expect(rescuedState(straight, 'CHECKING')).toBe('CHECKING');
    expect(isLegalMove(straight, { from: 'CHECKING', to: 'CHECKING', via: 'rescue' })).toBe(true);
    expect(isLegalMove(straight, { from: 'CHECKING', to: 'READING', via: 'rescue' })).toBe(false);
    expect(moves(straight, 'rescue')).toEqual([]);
  });

  it('puts an item that a run drives back into the state that the table names', () => {
    expect(moves(resting, 'rescue')).toEqual([
      'queued>queued rescue',
      'converting>queued rescue',
      'storing>queued rescue',
    ]);
    expect(moves(batched, 'rescue')).toEqual(['processing>active rescue']);
    expect(isLegalMove(resting, { from: 'storing', to: 'queued', via: 'rescue' })).toBe(true);
    expect(isLegalMove(resting, { from: 'storing', to: 'storing', via: 'rescue' })).toBe(false);
  });

  it('leaves an item that waits for a person or an upload: no file is queued without its bytes', () => {
    expect(rescuedState(resting, 'registered')).toBe('registered');
    expect(isLegalMove(resting, { from: 'registered', to: 'queued', via: 'rescue' })).toBe(false);
    expect(isLegalMove(resting, { from: 'registered', to: 'registered', via: 'rescue' })).toBe(true);
  });

  it('does not move a final item', () => {
    expect(isLegalMove(straight, { from: 'DONE', to: 'DONE', via: 'rescue' })).toBe(false);
    expect(isLegalMove(resting, { from: 'failed', to: 'queued', via: 'rescue' })).toBe(false);
  });
});

describe('a retry begins a new visit', () => {
  it('at the start or where a run drives the item', () => {
    expect(retryStates(straight)).toEqual(['READING', 'CHECKING', 'WRITING']);
    expect(retryStates(resting)).toEqual(['registered', 'queued', 'converting', 'storing']);
    expect(retryStates(reviewed)).toEqual(['JUDGING', 'PUBLISHING']);
  });

  it('not at a fan-out, which has no units in a new visit and would be skipped', () => {
    expect(retryStates(spreadLast)).toEqual(['LISTING', 'INDEXING']);
    expect(retryStates(canary)).toEqual(['FIRST', 'SECOND', 'THIRD']);
  });

  it('not in a state that may be full, but before it', () => {
    expect(retryStates(admitting)).toEqual(['WAITING']);
    expect(retryStates(conversation)).toEqual(['active']);
  });

  it('not where the table does not offer it', () => {
    expect(retryStates({ ...straight, retries: ['READING'] })).toEqual(['READING']);
    expect(isLegalMove({ ...straight, retries: ['READING'] }, { from: 'CHECKING', to: 'WRITING', via: 'retry' })).toBe(
      false,
    );
  });

  it('from any live state, and from a final one that can be reopened', () => {
    expect(isLegalMove(reopened, { from: 'WORKING', to: 'FINISHING', via: 'retry' })).toBe(true);
    expect(isLegalMove(reopened, { from: 'FAILED', to: 'FINISHING', via: 'retry' })).toBe(true);
    expect(isLegalMove(reopened, { from: 'CANCELLED', to: 'WORKING', via: 'retry' })).toBe(false);
    expect(isLegalMove(reopened, { from: 'WORKING', to: 'DONE', via: 'retry' })).toBe(false);
    expect(isLegalMove(reviewed, { from: 'NEEDS_REVIEW', to: 'JUDGING', via: 'retry' })).toBe(true);
    expect(isLegalMove(reviewed, { from: 'REJECTED', to: 'JUDGING', via: 'retry' })).toBe(false);
  });
});

describe('legal moves', () => {
  it.each(['outcome', 'spent', 'cancel', 'exhaustion', 'rescue', 'reopen', 'retry', 'pause', 'resume'] as const)(
    'by %s, of a state that there is not, is an error',
    (via) => {
      expect(() => isLegalMove(straight, { from: 'NOWHERE', to: 'DONE', via })).toThrow("no state 'NOWHERE'");
    },
  );

  it('differ by the kind of move that takes them', () => {
    expect(isLegalMove(straight, { from: 'READING', to: 'CHECKING', via: 'outcome' })).toBe(true);
    expect(isLegalMove(straight, { from: 'READING', to: 'CHECKING', via: 'spent' })).toBe(false);
    expect(isLegalMove(straight, { from: 'READING', to: 'FAILED', via: 'spent' })).toBe(true);
    expect(isLegalMove(straight, { from: 'READING', to: 'FAILED', via: 'outcome' })).toBe(false);
    expect(isLegalMove(straight, { from: 'READING', to: 'FAILED', via: 'cancel' })).toBe(false);
    expect(isLegalMove(straight, { from: 'READING', to: 'CANCELLED', via: 'cancel' })).toBe(true);
    expect(isLegalMove(straight, { from: 'READING', to: 'WRITING', via: 'outcome' })).toBe(false);
  });

  it('never lead out of a final state, except that it is reopened', () => {
    expect(edgesOf(straight).filter(({ from }) => isEnd(rowOf(straight, from)))).toEqual([]);
    expect(moves(reopened, 'reopen')).toEqual(['DONE>WORKING retry', 'FAILED>WORKING retry']);
    expect(isLegalMove(reopened, { from: 'DONE', to: 'WORKING', via: 'reopen' })).toBe(true);
    expect(isLegalMove(reopened, { from: 'CANCELLED', to: 'WORKING', via: 'reopen' })).toBe(false);
  });

  it('keep a live state on pause and on resume', () => {
    for (const via of ['pause', 'resume'] as const) {
      expect(isLegalMove(reviewed, { from: 'NEEDS_REVIEW', to: 'NEEDS_REVIEW', via })).toBe(true);
      expect(isLegalMove(reviewed, { from: 'NEEDS_REVIEW', to: 'REJECTED', via })).toBe(false);
      expect(isLegalMove(reviewed, { from: 'REJECTED', to: 'REJECTED', via })).toBe(false);
    }
  });

  it('carry the triggers that commits write', () => {
    expect(moves(straight, 'outcome')).toEqual([
      'READING>CHECKING read-done',
      'READING>DONE nothing-to-do',
      'CHECKING>WRITING check-good',
      'CHECKING>FAILED check-bad',
      'WRITING>DONE write-done',
    ]);
    expect(moves(straight, 'spent')).toEqual([
      'READING>FAILED read-failed',
      'CHECKING>FAILED check-failed',
      'WRITING>FAILED disk-full',
    ]);
    expect(moves(resting, 'outcome').slice(0, 2)).toEqual([
      'registered>queued registered-confirmed',
      'queued>converting convert-claimed',
    ]);
    expect(moves(reviewed, 'outcome')).toContain('NEEDS_REVIEW>SECOND_REVIEW reviewer-escalate');
  });

  it('are derived once for a table', () => {
    expect(edgesOf(file)).toBe(edgesOf(file));
    expect(edgesOf({ ...file })).toEqual(edgesOf(file));
  });
});

describe('a pipeline with a short stage', () => {
  it('is recognised in any of its states', () => {
    const { SECOND } = canary.states;
    const states = { ...canary.states, SECOND: { ...SECOND, does: { ...SECOND.does, short: true } } };

    expect(hasShortStage({ ...canary, states })).toBe(true);
    expect(hasShortStage(canary)).toBe(false);
  });
});
