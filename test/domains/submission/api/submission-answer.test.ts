import { describe, expect, it } from 'vitest';
import { SubmissionAnswer } from '../../../../src/domains/submission/api/submission-schema.js';
import { CRITERIA, isWholeJudgement } from '../../../../src/domains/submission/core/judgement/judgement.js';

const place = { file: 'SKILL.md', line: 3, text: 'sudo make' };
const WHOLE = {
  score: 70,
  model: 'rules-v1',
  criteria: Object.fromEntries(CRITERIA.map((name) => [name, 7.5])),
  limits: [{ to: 79, because: 'The judge did not see all of it.' }],
  concerns: [
    { criterion: 'leastPrivilege', text: 'It raises its own rights.', quote: place },
    { criterion: 'securityNotes', text: 'It warns of nothing.', quote: null },
  ],
  privileges: [{ kind: 'elevation', ...place }],
};

/** The judgement with one field, however deep, taken away or made something else. */
function* spoiled(node: unknown, put: (changed: unknown) => unknown): Generator<[string, unknown]> {
  for (const other of [undefined, null, 'x', 1.5, {}, [{}], true]) {
    const told = other === undefined ? 'nothing' : JSON.stringify(other);
    yield [`${told} for ${JSON.stringify(node)}`, put(other)];
  }
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    yield* spoiled(value, (changed) =>
      put(Array.isArray(node) ? node.with(Number(key), changed) : { ...node, [key]: changed }),
    );
  }
}

describe('a judgement that was kept', () => {
  const isShown = (stored: unknown) => SubmissionAnswer.shape.judgement.unwrap().safeParse(stored).success;

  it('is whole as it is made', () => {
    expect([isWholeJudgement(WHOLE), isShown(WHOLE)]).toEqual([true, true]);
  });

  it.each([...spoiled(WHOLE, (changed) => changed)])('is used, told and shown alike with %s', (_, stored) => {
    expect(isWholeJudgement(stored)).toBe(isShown(stored));
  });
});
