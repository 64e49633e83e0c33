/** Temporal's levels, of which 1 goes first. A level waits until nothing waits at the levels before it. */
export type PriorityKey = 1 | 2 | 3 | 4 | 5;

/** From here on an item is urgent, and goes before everything that is not. */
export const URGENT = 100;

/** The level of an item's priority. Levels are strict, and a lower one starves while a higher one has work: so everybody is at 3
 *  unless somebody asks for another place. */
export function priorityKeyOf(priority: number): PriorityKey {
  if (priority >= URGENT) return 1;
  if (priority >= 1) return 2;
  if (priority === 0) return 3;
  return priority > -URGENT ? 4 : 5;
}
