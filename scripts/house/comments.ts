/** A comment of so many words or more is long enough to be judged by its words: a shorter one is read at a glance. */
export const LONGER_WORDS = 14;

/** A comment of which so large a share of the words are stand-ins needs a second reading. */
export const STAND_IN_SHARE = 0.2;

/** Words that stand in the place of a noun. "Who", "whose" and "which" are not among them: their noun is the word before. */
const STAND_INS = new Set(
  [
    'it its itself he him his she they them their theirs themselves',
    'this that these those one ones other others another such',
    'what whatever whoever nobody somebody anybody everybody nothing something anything everything',
  ].flatMap((line) => line.split(' ')),
);

export function isLonger(comment: string): boolean {
  return wordsIn(comment).length >= LONGER_WORDS;
}

export function needsSecondReading(comment: string): boolean {
  const words = wordsIn(comment);
  const standIns = words.filter((word) => STAND_INS.has(word)).length;
  return words.length >= LONGER_WORDS && standIns / words.length >= STAND_IN_SHARE;
}

/** How many of the old comments are not there any more in the same words. A comment that moved to another file is there. */
export function countRewritten(old: readonly string[], present: readonly string[]): number {
  const left = new Map<string, number>();
  for (const comment of present) left.set(keyOf(comment), (left.get(keyOf(comment)) ?? 0) + 1);
  let rewritten = 0;
  for (const comment of old) {
    const count = left.get(keyOf(comment)) ?? 0;
    if (count === 0) rewritten += 1;
    else left.set(keyOf(comment), count - 1);
  }
  return rewritten;
}

function keyOf(comment: string): string {
  return wordsIn(comment).join(' ');
}

function wordsIn(comment: string): string[] {
  return comment.toLowerCase().match(/[a-z][a-z'’-]*/g) ?? [];
}
