/** Temporal's levels, of which 1 goes first. A level waits until nothing waits at the levels before it. */
export type PriorityKey = 1 | 2 | 3 | 4 | 5;

/** The lowest priority of each level. Levels are strict, and a lower one starves while a higher one has work: so everybody is at 3
 *  unless an admin asks for another place. */
export const LEVELS: readonly { key: PriorityKey; from: number }[] = [
  { key: 1, from: 100 },
  { key: 2, from: 1 },
  { key: 3, from: 0 },
  { key: 4, from: -99 },
  { key: 5, from: -Infinity },
];

/** The level of an item's priority. */
export function priorityKeyOf(priority: number): PriorityKey {
  return LEVELS.find(({ from }) => priority >= from)?.key ?? 5;
}

/** The priorities of the level that a priority belongs to: from `from`, and below `below`. */
export function levelOf(priority: number): { from: number; below: number } {
  const at = LEVELS.findIndex(({ from }) => priority >= from);
  return { from: LEVELS[at]?.from ?? -Infinity, below: LEVELS[at - 1]?.from ?? Infinity };
}
