import { describe, expect, it } from 'vitest';
import type { AttemptFact, ReceiptFact, RecoveryFacts } from './recovery-facts.js';
import { recoveryFindings } from './recovery-verdict.js';

const TASK = { itemId: 'a', visit: 1, stage: 'first', unit: '' };
const at = (second: number): Date => new Date(second * 1_000);

function attempt(number: number, result: string): AttemptFact {
  const times = { startedAt: at(number), endedAt: at(number + 1) };
  return { ...TASK, attempt: number, worker: 'worker-1@host:1:x', ...times, result, errorClass: null };
}

function receipt(more: Partial<ReceiptFact> = {}): ReceiptFact {
  const times = { lastSignAt: at(1), seenAt: at(2), actedAt: at(2), movingAt: at(3) };
  return { ...TASK, epoch: 1, reason: 'worker_died', result: 'moving', ...times, ...more };
}

/** One task that crashed once, and one item that was rescued, with whatever a test breaks. */
function facts(broken: (sound: RecoveryFacts) => void = () => undefined): RecoveryFacts {
  const all: RecoveryFacts = {
    tasks: [{ ...TASK, status: 'done', attempt: 2, errors: 0, crashes: 1 }],
    attempts: [attempt(1, 'crash'), attempt(2, 'done')],
    receipts: [receipt(), receipt({ itemId: 'b', stage: null, epoch: 2, reason: 'workflow_closed' })],
    acts: [{ itemId: 'b', trigger: 'rescue', epoch: 2, at: at(2) }],
  };
  broken(all);
  return all;
}

const CASES: [name: string, kind: string, itemId: string, broken: (sound: RecoveryFacts) => void][] = [
  ['a crash without a receipt', 'no receipt', 'a', (all) => void all.receipts.shift()],
  [
    'a stage that was given back without a receipt',
    'no receipt',
    'a',
    (all) => void (all.tasks.push({ ...all.tasks[0]!, unit: 'x', crashes: 0 }), all.attempts.push(...givenBack('x'))),
  ],
  ['a rescue without a receipt', 'no receipt', 'b', (all) => void all.receipts.pop()],
  ['a receipt of a crash that was none', 'no cause', 'a', (all) => void all.receipts.push(receipt())],
  ['a receipt of a rescue that was none', 'no cause', 'b', (all) => void all.acts.pop()],
  [
    'a run that was started again without an entry',
    'no cause',
    'd',
    ({ receipts }) => void receipts.push(receipt({ itemId: 'd', stage: null, reason: 'start_lost' })),
  ],
  ['a receipt of another run', 'no cause', 'b', ({ receipts }) => void (receipts[1]!.epoch = 3)],
  [
    'a rescue whose receipt says that it was given up',
    'no receipt',
    'b',
    (all) => (all.receipts[1]!.result = 'parked'),
  ],
  ['a receipt that was never completed', 'open', 'a', ({ receipts }) => void (receipts[0]!.result = 'waiting')],
  ['a receipt that acts before it sees', 'no cause', 'a', ({ receipts }) => void (receipts[0]!.actedAt = at(1))],
  ['an exhausted item without a receipt', 'no receipt', 'c', ({ acts }) => void acts.push(act('c', 'stuck-exhausted'))],
  ['a poisoned item without a receipt', 'no receipt', 'c', ({ acts }) => void acts.push(act('c', 'poison'))],
  ['an attempt that never ended', 'attempts', 'a', ({ tasks }) => void (tasks[0]!.attempt = 3)],
  ['an attempt that ended twice', 'attempts', 'a', ({ attempts }) => void attempts.push(attempt(2, 'done'))],
  ['a crash that was not counted', 'attempts', 'a', ({ tasks }) => void (tasks[0]!.crashes = 0)],
  ['work that nobody did', 'attempts', 'a', ({ attempts }) => void (attempts[1]!.result = 'shutdown')],
];

function givenBack(unit: string): AttemptFact[] {
  return [attempt(1, 'given_back'), attempt(2, 'done')].map((each) => ({ ...each, unit }));
}

function act(itemId: string, trigger: string): RecoveryFacts['acts'][number] {
  return { itemId, trigger, epoch: 1, at: at(2) };
}

describe('the verdict on recoveries', () => {
  it('finds nothing where each has its record', () => {
    expect(recoveryFindings(facts())).toEqual([]);
  });

  it.each(CASES)('finds %s', (_, kind, itemId, broken) => {
    expect(recoveryFindings(facts(broken))).toContainEqual(expect.objectContaining({ kind, itemId }));
  });

  it('takes the receipt of the last crash for that of a poisoned item', () => {
    const poisoned = facts((all) => {
      all.tasks[0]!.attempt = 1;
      all.tasks[0]!.status = 'waiting';
      all.attempts.pop();
      all.receipts[0] = receipt({ result: 'poison', movingAt: null });
      all.acts.push(act('a', 'poison'));
    });
    expect(recoveryFindings(poisoned)).toEqual([]);
  });
});
