import { describe, expect, it } from 'vitest';
import type { ItemAnswer } from '../../src/api/items/item-schema.js';
import type { Reason } from '../../src/core/diagnosis.js';
import { askWhileHeld } from './ask.js';
import { answerFaults } from './check.js';
import type { FaultCase, Victim } from './fault-case.js';
import type { Field, ListLine } from './field.js';

const ASKED_AT = new Date('2026-03-01T12:00:00Z');

const fault: FaultCase = {
  reason: 'no_worker',
  name: 'nobody there',
  create: () => Promise.reject(new Error('not made here')),
  holds: async () => true,
  before: ['backlog'],
  seenWithinMs: 10_000,
  expects: {
    ...{ sentence: /^Nobody/, evidence: {}, nextAction: 'Wait.', nextAt: 'ahead' },
    ...{ ends: 'DONE', receipts: [], trail: [], effects: [] },
  },
};

/** Made so long ago. */
function victim(msAgo = 0): Victim {
  return { id: 'a', at: Date.now() - msAgo };
}

/** Says these one after the other, and the last one for ever. */
function saying(reasons: readonly Reason[], nextAt = '2026-03-01T12:00:01.000Z', listed: ListLine[] = []): Field {
  let count = 0;
  return {
    now: async () => ASKED_AT,
    lines: async () => listed,
    async item() {
      const reason = reasons[Math.min(count, reasons.length - 1)];
      count += 1;
      const diagnosis = { reason, sentence: 'Nobody is there.', evidence: {}, nextAction: 'Wait.', nextAt };
      return { updatedAt: '2026-03-01T11:00:00.000Z', diagnosis } as unknown as ItemAnswer;
    },
  } as unknown as Field;
}

async function faultsOf(field: Field, met = victim()): Promise<string[]> {
  return answerFaults(fault, await askWhileHeld(field, fault, met));
}

function line(sentence: string, swept: ListLine['swept'] = null): ListLine {
  return { list: 'the list', diagnosis: { reason: 'no_worker', sentence, nextAt: null }, swept };
}

describe('lists that are asked while a fault is held', () => {
  it('say the same as the page', async () => {
    expect(await faultsOf(saying(['no_worker'], undefined, [line('Nobody is there.')]))).toEqual([]);
  });

  it('are wrong if they go on to say something else', async () => {
    const field = saying(['no_worker'], undefined, [line('Nobody was asked.')]);
    expect(await faultsOf(field)).toEqual(['the list says "no_worker: Nobody was asked."']);
  });

  it('may say something else before a sweep, if only a sweep can tell', async () => {
    const once = { ...fault, isListedOnceSwept: true } as const;
    const [before, after] = [line('Somebody.'), line('Somebody.', { reason: 'no_worker' })];
    const faults = async (lines: ListLine[]) =>
      answerFaults(once, await askWhileHeld(saying(['no_worker'], undefined, lines), once, victim()));
    expect(await faults([before])).toEqual([]);
    expect(await faults([after])).toEqual(['the list says "no_worker: Somebody."']);
  });
});

describe('answers while a fault is held', () => {
  it('may say what the case allows before the fault is seen', async () => {
    const asked = await askWhileHeld(saying(['backlog', 'backlog', 'no_worker']), fault, victim());

    expect(asked).toMatchObject({ settling: { backlog: 2 }, right: { askedAt: ASKED_AT } });
    expect(Object.keys(asked.answers)).toEqual(['no_worker']);
    expect(answerFaults(fault, asked)).toEqual([]);
  });

  it('are mistaken where they say anything else before', async () => {
    expect(await faultsOf(saying(['backlog', 'running', 'no_worker']))).toEqual(['was mistaken for running 1 times']);
  });

  it('are mistaken where they say what was allowed after it was seen', async () => {
    expect(await faultsOf(saying(['no_worker', 'backlog', 'no_worker']))).toEqual(['was mistaken for backlog 1 times']);
  });

  it('are too late after the time that the case allows', async () => {
    expect(await faultsOf(saying(['no_worker']), victim(10_001))).toEqual([
      expect.stringMatching(/^was seen after \d+ ms, not 10000$/),
    ]);
  });

  it('are counted as mistakes if they never say it', async () => {
    const asked = await askWhileHeld(saying(['backlog']), fault, victim(10_001));

    expect(asked).toMatchObject({ settling: {}, answers: { backlog: 1 }, settledMs: null });
    expect(answerFaults(fault, asked)).toEqual(['was never said to be no_worker, but {"backlog":1}']);
  });

  it('do not count where one fault was followed by the next meanwhile', async () => {
    const held = [1, 2];
    const twice = { ...fault, holds: async () => held.shift() ?? 2 };
    const asked = await askWhileHeld(saying(['running', 'no_worker']), twice, victim());

    expect(Object.keys(asked.answers)).toEqual(['no_worker']);
  });

  it('may name no time that had passed when it was asked', async () => {
    expect(await faultsOf(saying(['no_worker'], '2026-03-01T12:00:00.000Z'))).toEqual([
      'it comes at 2026-03-01T12:00:00.000Z, asked at 2026-03-01T12:00:00.000Z',
    ]);
  });
});
