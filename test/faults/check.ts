import type { ItemAnswer } from '../../src/api/items/item-schema.js';
import type { ReceiptAnswer } from '../../src/api/operators/receipt-answer.js';
import { effectsOf, trailFaults } from '../support/facts.js';
import { type Answered, type Asked, LEAST, sumOf } from './ask.js';
import type { Expectation, FaultCase, Wanted, WantedReceipt } from './fault-case.js';
import type { Field } from './field.js';

/** What is wrong with the answers given while the fault was held. */
export function answerFaults(fault: FaultCase, { answers, settling, settledMs, right, differing }: Asked): string[] {
  const { reason, expects, seenWithinMs } = fault;
  if (!right || settledMs === null) {
    return [`was never said to be ${reason}, but ${JSON.stringify({ ...settling, ...answers })}`];
  }
  const faults = Object.entries(answers)
    .filter(([said]) => said !== reason)
    .map(([said, count]) => `was mistaken for ${said} ${String(count)} times`);
  const count = sumOf(answers);
  if (settledMs > seenWithinMs) faults.push(`was seen after ${String(settledMs)} ms, not ${String(seenWithinMs)}`);
  if (count < LEAST) faults.push(`was asked about ${String(count)} times only`);
  return [...faults, ...(differing ?? ['no list was asked']), ...diagnosisFaults(expects, right)];
}

function diagnosisFaults(expects: Expectation, right: Answered): string[] {
  const { item } = right;
  const { sentence, evidence, nextAction, nextAt } = item.diagnosis;
  const faults: string[] = [];
  if (!expects.sentence.test(sentence)) faults.push(`the sentence is "${sentence}", not ${String(expects.sentence)}`);
  for (const [key, wanted] of Object.entries(expects.evidence)) {
    if (!isAsWanted(evidence[key], wanted)) faults.push(`evidence.${key} is ${JSON.stringify(evidence[key])}`);
  }
  if (nextAction !== expects.nextAction) faults.push(`the next action is "${nextAction}"`);
  if (!isNextAt(expects.nextAt, right))
    faults.push(`it comes at ${String(nextAt)}, asked at ${right.askedAt.toISOString()}`);
  return faults;
}

function isAsWanted(value: unknown, wanted: Wanted): boolean {
  if (typeof wanted === 'function') return wanted(value);
  return wanted instanceof RegExp ? typeof value === 'string' && wanted.test(value) : value === wanted;
}

/** Who does what is due comes by a timer or a loop of a second or two, and a busy machine takes its time. */
const LATE_MS = 5_000;

function isNextAt(wanted: Expectation['nextAt'], { item, askedAt }: Answered): boolean {
  const { nextAt } = item.diagnosis;
  if (typeof wanted === 'function') return wanted(nextAt, item);
  if (wanted === 'none') return nextAt === null;
  return nextAt !== null && Date.parse(nextAt) > askedAt.getTime() - (wanted === 'due' ? LATE_MS : 0);
}

/** What is wrong with what was done about it, read when the item has come to its end. */
export async function recoveryFaults(field: Field, { expects }: FaultCase, id: string): Promise<string[]> {
  const item = await field.item(id);
  const { pool } = field.installation;
  const faults: string[] = [];
  if (item.state !== expects.ends) faults.push(`it is in ${item.state}, not in ${expects.ends}`);
  faults.push(...(await trailFaults(pool, id)));
  const trail = item.timeline.flatMap((line) => (line.kind === 'move' ? `${line.trigger} (${line.actorType})` : []));
  const isOther = expects.orTrail !== undefined && item.receipts.length === (expects.orReceipts ?? []).length;
  const wantedTrail = isOther ? expects.orTrail : expects.trail;
  if (!isSame(trail, wantedTrail) && !isSame(withoutOne(trail, expects.mayTrail), wantedTrail))
    faults.push(`its trail is ${trail.join(', ')}`);
  const effects = (await effectsOf(pool, id)).map((line) => line.split(' ')[1]);
  if (!isSame(effects, expects.effects)) faults.push(`its effects are ${effects.join(', ')}`);
  faults.push(...receiptsFaults(item.receipts, [expects.receipts, expects.orReceipts ?? expects.receipts]));
  if (expects.notifies && !(await isNotified(field, expects.notifies, item)))
    faults.push(`nobody was told of ${expects.notifies}`);
  return faults;
}

function withoutOne(trail: readonly string[], entry: string | undefined): readonly string[] {
  const at = trail.findIndex((each) => each === entry);
  return at === -1 ? trail : trail.toSpliced(at, 1);
}

/** The API answers the newest first. */
function receiptsFaults(
  newestFirst: readonly ReceiptAnswer[],
  wanted: readonly (readonly WantedReceipt[])[],
): string[] {
  const receipts = newestFirst.toReversed();
  const got = receipts.map(({ reason, actorType, result, stagesAgain }) => ({
    ...{ reason, actorType, result, stagesAgain },
  }));
  const isWanted = (each: readonly WantedReceipt[]): boolean =>
    isSame(
      got,
      each.map(({ orReason, ...receipt }, at) =>
        got[at]?.reason === orReason ? { ...receipt, reason: orReason } : receipt,
      ),
    );
  const faults = wanted.some(isWanted) ? [] : [`its receipts are ${JSON.stringify(got)}`];
  return [...faults, ...receipts.flatMap(orderFaults)];
}

/** Stopped, seen, acted, moving. */
function orderFaults({ lastSignAt, seenAt, actedAt, movingAt, result }: ReceiptAnswer): string[] {
  if ((result === 'moving') !== (movingAt !== null)) return [`a receipt is ${result} and moves at ${String(movingAt)}`];
  const times = [lastSignAt, seenAt, actedAt, ...(movingAt === null ? [] : [movingAt])];
  return isSame(times, times.toSorted()) ? [] : [`a receipt's times are out of order: ${times.join(', ')}`];
}

async function isNotified({ admin }: Field, kind: string, item: ItemAnswer): Promise<boolean> {
  const { body } = await admin.get('/api/v1/notifications?limit=100');
  const told = body['notifications'] as { kind: string; pipeline: string | null; itemId: string | null }[];
  return told.some((each) => each.kind === kind && each.pipeline === item.pipeline && isOf(each, item));
}

function isOf({ itemId }: { itemId: string | null }, { id }: ItemAnswer): boolean {
  return itemId === null || itemId === id;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
