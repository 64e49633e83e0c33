import { expect, it } from 'vitest';
import { runPriorityOf } from '../../src/temporal/run-priority.js';

/** More than this, and Temporal refuses the start. */
const MOST_BYTES = 64;

it('every owner has a key that Temporal takes, and no two the same', () => {
  const owners = ['ada', 'Ada', '', 'ö'.repeat(200), 'x'.repeat(100)];
  const keys = owners.map((owner) => runPriorityOf({ owner, priority: 0 }).fairnessKey ?? '');
  expect(new Set(keys).size).toBe(owners.length);
  for (const key of keys) expect(Buffer.byteLength(key)).toBeLessThanOrEqual(MOST_BYTES);
});

it('the key of an owner never changes, because a run that waits keeps it', () => {
  const key = runPriorityOf({ owner: 'ada', priority: 0 });
  expect(key).toEqual({ priorityKey: 3, fairnessKey: 'fdee430d40bd57deeac186cd9790033d' });
});
