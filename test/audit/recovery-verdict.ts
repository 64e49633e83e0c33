import { groupBy } from './group-by.js';
import type { ActFact, AttemptFact, ReceiptFact, RecoveryFacts, TaskFact } from './recovery-facts.js';

/** A recovery without its record, a record without its recovery, or one that never ended. */
export interface RecoveryFinding {
  kind: 'no receipt' | 'no cause' | 'open' | 'attempts';
  itemId: string;
  what: string;
}

/** What the receipt of each act says of how it ended. A rescue's moves on when its run has taken its first step. */
const RESULT_OF_ACT: Readonly<Record<string, string>> = {
  rescue: 'moving',
  'stuck-exhausted': 'exhausted',
  poison: 'poison',
  parked: 'parked',
};

/** Holds receipts, ended attempts and acts against one another, for items that have all ended: what the one tells of, the other
 *  must know. */
export function recoveryFindings(facts: RecoveryFacts): RecoveryFinding[] {
  const lost = facts.attempts.filter(({ result }) => result === 'crash' || result === 'given_back');
  const ofTasks = facts.receipts.filter(({ stage }) => stage !== null);
  const ofItems = facts.receipts.filter(({ stage }) => stage === null);
  const attempts = groupBy(facts.attempts, (each) => keyOf(nameOfTask(each)));
  const poisons = facts.acts.filter(({ trigger }) => trigger === 'poison');
  return [
    ...unpaired(lost.map(nameOfTask), ofTasks.map(nameOfTask), 'a lost attempt'),
    // A poisoned item's receipt is that of its last crash.
    ...unpaired(
      facts.acts.filter(({ trigger }) => trigger !== 'poison').map(nameOfAct),
      ofItems.map(nameOfItem),
      'an act',
    ),
    ...unpaired(
      poisons.map(({ itemId }) => ({ itemId, name: 'poison' })),
      ofTasks.filter(({ result }) => result === 'poison').map(({ itemId }) => ({ itemId, name: 'poison' })),
      'an act',
    ),
    ...facts.receipts.flatMap(receiptFindings),
    ...facts.tasks.flatMap((task) => taskFindings(task, attempts.get(keyOf(nameOfTask(task))) ?? [])),
  ];
}

interface Named {
  itemId: string;
  name: string;
}

function nameOfTask({ itemId, visit, stage, unit }: AttemptFact | ReceiptFact | TaskFact): Named {
  return { itemId, name: [`visit ${String(visit)}`, stage, unit].join(' ').trim() };
}

function nameOfAct({ itemId, trigger, epoch }: ActFact): Named {
  return { itemId, name: `${RESULT_OF_ACT[trigger] ?? trigger} in run ${String(epoch)}` };
}

/** A rescue whose item was rescued again, or ended, before its run took a step has `waiting` for ever: that is found as open. */
function nameOfItem({ itemId, result, epoch }: ReceiptFact): Named {
  return { itemId, name: `${result === 'waiting' ? 'moving' : result} in run ${String(epoch)}` };
}

function keyOf({ itemId, name }: Named): string {
  return `${itemId} ${name}`;
}

/** As many of the one as of the other, of each name. */
function unpaired(happened: readonly Named[], receipts: readonly Named[], what: string): RecoveryFinding[] {
  const open = groupBy(receipts, keyOf);
  const without = happened.filter((each) => open.get(keyOf(each))?.pop() === undefined);
  return [
    ...without.map(({ itemId, name }) => ({
      kind: 'no receipt' as const,
      itemId,
      what: `${what} without one: ${name}`,
    })),
    ...[...open.values()].flat().map(({ itemId, name }) => ({
      kind: 'no cause' as const,
      itemId,
      what: `a receipt of what is not ${what}: ${name}`,
    })),
  ];
}

function receiptFindings(receipt: ReceiptFact): RecoveryFinding[] {
  const { itemId, reason, result, seenAt, actedAt, movingAt } = receipt;
  if (result === 'waiting') return [{ kind: 'open', itemId, what: `its receipt of ${reason} was never completed` }];
  const isInOrder = seenAt <= actedAt && (movingAt === null ? result !== 'moving' : actedAt <= movingAt);
  return isInOrder
    ? []
    : [{ kind: 'no cause', itemId, what: `the times of its receipt of ${reason} are out of order` }];
}

/** Each attempt that was begun has ended, one way, and the last one did the work. */
function taskFindings(task: TaskFact, ours: readonly AttemptFact[]): RecoveryFinding[] {
  const { itemId, stage, unit, attempt, crashes } = task;
  const numbers = ours.map((each) => each.attempt).join();
  const wanted = Array.from({ length: attempt }, (_, at) => at + 1).join();
  const counted = ours.filter(({ result }) => result === 'crash').length;
  const bad = (what: string): RecoveryFinding => ({ kind: 'attempts', itemId, what: `${stage} ${unit}: ${what}` });
  return [
    ...(numbers === wanted ? [] : [bad(`attempts ${numbers} have ended, not ${wanted}`)]),
    ...(counted === crashes ? [] : [bad(`${String(crashes)} crashes are counted, and ${String(counted)} recorded`)]),
    ...(task.status === 'done' && ours.at(-1)?.result !== 'done' ? [bad('its last attempt did not do it')] : []),
  ];
}
