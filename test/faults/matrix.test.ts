import { describe, expect, it } from 'vitest';
import type { ItemAnswer } from '../../src/api/items/item-schema.js';
import type { Reason } from '../../src/core/diagnosis.js';
import type { Asked, Counts } from './ask.js';
import { answerFaults } from './check.js';
import type { FaultCase } from './fault-case.js';
import { GROUPS } from './groups.js';
import { reportOf, tableOf } from './matrix.js';
import type { Played } from './play.js';

const fault: FaultCase = {
  reason: 'backlog',
  name: 'a full queue',
  create: () => Promise.reject(new Error('not made here')),
  holds: async () => true,
  before: ['not_due'],
  seenWithinMs: 1_000,
  expects: {
    ...{ sentence: /^It waits/, evidence: { pollers: 2 }, nextAction: 'Wait.', nextAt: 'none' },
    ...{ ends: 'DONE', receipts: [], trail: [], effects: [] },
  },
};

const ASKED_AT = new Date('2026-03-01T12:00:00Z');

function played(answers: Counts, diagnosis: object = {}, more: Partial<Asked> = {}): Played {
  const said = { sentence: 'It waits.', evidence: { pollers: 2 }, nextAction: 'Wait.', nextAt: null, ...diagnosis };
  const right =
    answers.backlog === undefined ? null : { item: { diagnosis: said } as unknown as ItemAnswer, askedAt: ASKED_AT };
  const asked: Asked = { answers, settling: {}, settledMs: 100, right, differing: [], ...more };
  return { fault, ...asked, wrong: answerFaults(fault, asked) };
}

describe('a fault set', () => {
  it('has a case for every reason there is', () => {
    const all = GROUPS.flatMap(({ cases }) => cases).map((each) => {
      return { ...played({}), fault: each, answers: { [each.reason]: 9 } };
    });

    expect(reportOf(all).missing).toEqual([]);
  });

  it('passes when every answer was right', () => {
    const report = reportOf([played({ backlog: 9 })], ['backlog']);

    expect(report).toMatchObject({ passed: true, missing: [], matrix: { backlog: { backlog: 9 } } });
    expect(tableOf(report)).toContain('every reason right, none mistaken');
  });

  it.each<[string, Played]>([
    ['one answer was another reason', played({ backlog: 9, no_worker: 1 })],
    ['it was never right', played({ no_worker: 9 })],
    ['it was seen too late', played({ backlog: 9 }, {}, { settledMs: 1_001 })],
    ['it was hardly asked about', played({ backlog: 2 })],
    ['a list says something else', played({ backlog: 9 }, {}, { differing: ['the list says it runs'] })],
    ['no list was asked', played({ backlog: 9 }, {}, { differing: null })],
    ['the sentence is another', played({ backlog: 9 }, { sentence: 'It runs.' })],
    ['the evidence is another', played({ backlog: 9 }, { evidence: { pollers: 0 } })],
    ['the next action is another', played({ backlog: 9 }, { nextAction: 'None is needed.' })],
    ['a time is named that nobody knows', played({ backlog: 9 }, { nextAt: '2026-03-01T12:00:00.000Z' })],
  ])('fails when %s', (_, wrong) => {
    const report = reportOf([wrong], ['backlog']);

    expect(report.passed).toBe(false);
    expect(tableOf(report)).toContain('NOT every reason was right');
  });

  it('fails when a reason was not shown', () => {
    const wanted: Reason[] = ['backlog', 'wedged'];

    expect(reportOf([played({ backlog: 9 })], wanted)).toMatchObject({ passed: false, missing: ['wedged'] });
  });
});
