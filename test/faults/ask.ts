import type { ItemAnswer } from '../../src/api/items/item-schema.js';
import type { Reason } from '../../src/core/diagnosis.js';
import { until } from '../support/until.js';
import type { FaultCase, Victim } from './fault-case.js';
import type { Field, ListLine } from './field.js';
import { STUCK_MS } from './settings.js';

export type Counts = Partial<Record<Reason, number>>;

/** What was answered while a fault was held. */
export interface Asked {
  /** Every one counts, but for those below. */
  answers: Counts;
  /** The fault was there and not seen yet, within the time and in the words that its case allows. */
  settling: Counts;
  /** From the fault to the first right answer; null: there was none. */
  settledMs: number | null;
  /** The latest right answer. */
  right: Answered | null;
  /** What lists said otherwise than the latest right answer; null: they were not asked. */
  differing: string[] | null;
}

export interface Answered {
  item: ItemAnswer;
  /** By the database's clock, just before. */
  askedAt: Date;
}

/** So many answers are enough, and fewer than the least prove nothing. */
const ENOUGH = 25;
export const LEAST = 5;

/** A fault that was seen and has been away for this long is over; one that comes and goes is back before. */
const OVER_AFTER_MS = 3_000;

/** Asks the public API again and again while the fault is held. An answer counts if the same fault was there before and after. */
export async function askWhileHeld(field: Field, fault: FaultCase, victim: Victim): Promise<Asked> {
  const asked: Asked = { answers: {}, settling: {}, settledMs: null, right: null, differing: null };
  let sameAt = 0;
  let heldAt = Date.now();

  async function ask(): Promise<void> {
    const held = await fault.holds(field, victim);
    if (held === false) return;
    const askedAt = await field.now();
    const item = await field.item(victim.id);
    const at = Date.now();
    const asksLists = item.diagnosis.reason === fault.reason && isListTurn(sumOf(asked.answers));
    const lines = asksLists ? await field.lines(victim.id) : [];
    if ((await fault.holds(field, victim)) !== held) return;
    heldAt = Date.now();
    const { reason } = item.diagnosis;
    if (reason === fault.reason) {
      asked.settledMs ??= at - victim.at;
      asked.right = { item, askedAt };
      if (asksLists) {
        asked.differing = differencesOf(fault, item, lines);
        if (asked.differing.length === 0 || sameAt === 0) sameAt = Date.now();
      }
    }
    const maySettle = asked.settledMs === null && at - victim.at <= fault.seenWithinMs;
    const counts = maySettle && fault.before.includes(reason) ? asked.settling : asked.answers;
    counts[reason] = (counts[reason] ?? 0) + 1;
  }

  async function isEnough(): Promise<boolean> {
    if (Date.now() - heldAt > OVER_AFTER_MS) return true;
    if (asked.settledMs === null) return Date.now() - victim.at > fault.seenWithinMs;
    if (sumOf(asked.answers) < ENOUGH) return false;
    if (asked.differing?.length !== 0 && Date.now() - sameAt < LISTS_LATE_MS) return false;
    return isHeldLongEnough(field, fault, victim, asked.settledMs);
  }

  await until(
    `${fault.name} was asked about often enough`,
    async () => {
      await ask();
      return isEnough();
    },
    HELD_AT_MOST_MS,
  );
  return asked;
}

/** Lists are asked with the first answer, and then not before there are enough answers to prove something: a short fault is over
 *  soon. */
function isListTurn(answers: number): boolean {
  return answers === 0 || answers >= LEAST;
}

/** A sweep that ran before the fault could be seen says nothing of it: frozen workers still count as there for twenty seconds. */
async function isHeldLongEnough(
  field: Field,
  { heldUntil }: FaultCase,
  { id, at }: Victim,
  settledMs: number,
): Promise<boolean> {
  if (heldUntil === undefined) return true;
  if (heldUntil === 'stuck') return Date.now() > at + STUCK_MS;
  return field.sweptSince(id, at + Math.max(STUCK_MS, settledMs));
}

/** A list asks Temporal's search index, which is a moment late, and later on a busy machine. */
const LISTS_LATE_MS = 5_000;

/** The lines of lists that do not say what the item's own page says. */
function differencesOf(fault: FaultCase, { diagnosis }: ItemAnswer, lines: readonly ListLine[]): string[] {
  return lines
    .filter(({ swept }) => fault.isListedOnceSwept !== true || swept !== null)
    .filter((line) => wordsOf(line.diagnosis) !== wordsOf(diagnosis))
    .map(({ list, diagnosis: said }) => `${list.replace(/q=.*/, '')} says "${said.reason}: ${said.sentence}"`);
}

/** Ages and counts go on from one question to the next, and a try that was to come may be overdue. */
function wordsOf({ reason, sentence }: ListLine['diagnosis']): string {
  const words = sentence.replace(/[\d.]+ (s|min|h|d)\b/g, '#').replace(/\d+/g, '#');
  return `${reason}: ${words.replace('has been due for #', 'is due in #')}`;
}

/** Longer than any fault is held. */
const HELD_AT_MOST_MS = 120_000;

export function sumOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, each) => sum + each, 0);
}
