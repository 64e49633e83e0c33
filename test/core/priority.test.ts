import { describe, expect, it } from 'vitest';
import { priorityKeyOf } from '../../src/core/priority.js';
import { entryStep, withPriority } from '../../src/core/step.js';
import { reviewed, spreadLast, straight } from '../support/tables.js';

describe('the level of a priority', () => {
  it.each([
    [1_000, 1],
    [100, 1],
    [99, 2],
    [1, 2],
    [0, 3],
    [-1, 4],
    [-99, 4],
    [-100, 5],
    [-1_000, 5],
  ])('of %i is %i', (priority, level) => {
    expect(priorityKeyOf(priority)).toBe(level);
  });

  it('goes with a step that does work, and with no other', () => {
    expect(withPriority(entryStep(straight, 'READING', 1) ?? { do: 'next' }, 7)).toMatchObject({ priorityKey: 2 });
    const others = [entryStep(reviewed, 'NEEDS_REVIEW', 1), entryStep(reviewed, 'REJECTED', 1)];
    for (const step of [...others, entryStep(spreadLast, 'COPYING', 1)]) {
      expect(step && withPriority(step, 7)).toEqual(step);
    }
  });
});
