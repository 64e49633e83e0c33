import { expect, it } from 'vitest';
import { missingModelRemark } from '../../../../../src/domains/submission/core/judgement/approver.js';

it.each([
  [null, false, /^No model judges skills, .*; a skill that the built-in rules would approve waits for a person\.$/],
  [null, true, /^No model judges skills, .*JUDGE_RULES_MAY_APPROVE=true .* that no model and no person has seen\.$/],
])('says who approves where the judge is %j and rules may approve: %j', (judge, mayRulesApprove, sentence) => {
  expect(missingModelRemark({ judge, mayRulesApprove })).toMatch(sentence);
});

it('says nothing where a model judges', () => {
  expect(missingModelRemark({ judge: { model: 'm' }, mayRulesApprove: true })).toBeNull();
});
