import { describe, expect, it } from 'vitest';
import { stageOf } from '../../src/core/machine.js';
import { DEFAULT_BEATS, entryStep, stageStep, unitsStep } from '../../src/core/step.js';
import { msOf } from '../../src/core/span.js';
import { batched, brief, resting, reviewed, several, spreadAll, spreadLast, straight } from '../support/tables.js';

describe('the step of an item that has just entered a state', () => {
  it('is its first stage, with the times of its row in milliseconds', () => {
    expect(entryStep(straight, 'WRITING', 3)).toEqual({
      do: 'stage',
      visit: 3,
      state: 'WRITING',
      stage: 'write',
      withinMs: 10_000,
      beatsMs: 2_000,
      short: false,
    });
    expect(entryStep(several, 'WORKING', 1)).toMatchObject({ do: 'stage', stage: 'extract' });
  });

  it('has the default heartbeat timeout if the row names none', () => {
    expect(entryStep(straight, 'READING', 1)).toMatchObject({ beatsMs: msOf(DEFAULT_BEATS) });
  });

  it('says that a stage is short', () => {
    expect(entryStep(brief, 'LOOKING', 1)).toMatchObject({ do: 'stage', stage: 'look', short: true });
    expect(entryStep(brief, 'WORKING', 1)).toMatchObject({ short: false });
  });

  it('is a wait for a decision', () => {
    expect(entryStep(reviewed, 'NEEDS_REVIEW', 1)).toEqual({
      do: 'wait',
      state: 'NEEDS_REVIEW',
      forMs: null,
      reason: 'awaiting_decision',
    });
  });

  it('is the end', () => {
    expect(entryStep(reviewed, 'REJECTED', 1)).toEqual({ do: 'end', why: 'final' });
  });

  it('is the claiming stage, in the state that the claim leads to, if a claim ends the rest', () => {
    expect(entryStep(resting, 'queued', 2)).toMatchObject({
      do: 'stage',
      state: 'converting',
      stage: 'convert',
      visit: 2,
    });
  });

  it('is null if something other than a run ends the rest', () => {
    expect(entryStep(resting, 'registered', 1)).toBeNull();
    expect(entryStep(batched, 'active', 1)).toBeNull();
  });

  it('is to ask the row if a fan-out comes first, because only the row knows the units', () => {
    expect(entryStep(spreadLast, 'COPYING', 1)).toEqual({ do: 'next' });
  });

  it('is an error in an unknown state or in a state without stages', () => {
    expect(() => entryStep(straight, 'NOWHERE', 1)).toThrow(RangeError);
    const states = { ...straight.states, READING: { does: [], then: { done: 'DONE' } } };
    expect(() => entryStep({ ...straight, states }, 'READING', 1)).toThrow("state 'READING' does no stage");
  });
});

describe('a step', () => {
  it('names the units of a fan-out and how many may run at once', () => {
    const { row } = stageOf(spreadAll, 'upload');
    expect(unitsStep('PROCESSING', row, 2, ['a', 'b'])).toEqual({
      do: 'units',
      visit: 2,
      state: 'PROCESSING',
      stage: 'upload',
      withinMs: 10_000,
      beatsMs: 4_000,
      units: ['a', 'b'],
      width: 4,
    });
  });

  it('runs the units of a stage that is no longer a fan-out one at a time', () => {
    const { row } = stageOf(spreadAll, 'finish');
    expect(unitsStep('PROCESSING', row, 1, ['a'])).toMatchObject({ width: 1 });
  });

  it('survives workflow history unchanged', () => {
    const steps = [
      stageStep('READING', stageOf(straight, 'read').row, 1),
      unitsStep('PROCESSING', stageOf(spreadAll, 'upload').row, 1, ['a']),
      entryStep(reviewed, 'NEEDS_REVIEW', 1),
      entryStep(reviewed, 'REJECTED', 1),
      entryStep(spreadLast, 'COPYING', 1),
    ];
    expect(JSON.parse(JSON.stringify(steps))).toEqual(steps);
  });
});
