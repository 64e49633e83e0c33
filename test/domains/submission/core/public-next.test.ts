import { expect, it } from 'vitest';
import { type Reason, REASONS } from '../../../../src/core/diagnosis.js';
import { type LiveLook, publicNextOf } from '../../../../src/domains/submission/core/public-next.js';

const NOW = new Date('2026-11-16T12:00:00Z');
const AHEAD = new Date('2026-11-16T12:30:00Z');

function saidOf(reason: Reason, more: Partial<LiveLook> & { nextAt?: Date | null } = {}): string {
  const { nextAt = null, ...look } = more;
  return publicNextOf({ state: 'TIER1_SCANNING', diagnosis: { reason, nextAt }, now: NOW, isUnswept: false, ...look });
}

it('says something else for whatever keeps a submission, and no reason of ours by its name', () => {
  const said = REASONS.map((reason) => saidOf(reason));
  // What runs and what waits for a person are told by the state alone.
  expect(new Set(said).size).toBe(REASONS.length - 1);
  for (const sentence of said) expect(sentence).toMatch(/^[A-Z][^_]+; there is nothing to do\.$/);
});

it.each<[string, string, RegExp]>([
  ['what is done in its state', saidOf('running'), /^It is being fetched and scanned;/],
  ['a state of another version', saidOf('running', { state: 'CONSTRUCTOR' }), /^It is being worked on;/],
  ['who comes next', saidOf('awaiting_decision', { state: 'NEEDS_REVIEW' }), /^A person looks at it next;/],
  ['when a pause ends', saidOf('paused', { nextAt: AHEAD }), /until 2026-11-16T12:30:00\.000Z and goes on by itself/],
  ['that a pause has no end', saidOf('paused'), /until an operator resumes it/],
  ['when the next try is', saidOf('breaker_open', { nextAt: AHEAD }), /made at 2026-11-16T12:30:00\.000Z;/],
  ['that the next try is due', saidOf('retrying', { nextAt: new Date(0) }), /made in a moment;/],
  ['that nobody rescues', saidOf('workflow_closed', { isUnswept: true }), /stopped until an operator resumes them;/],
])('tells %s', (_, said, expected) => {
  expect(said).toMatch(expected);
});
