import { describe, expect, it } from 'vitest';
import { NEXT_VERSION } from './next-build.js';
import { type FailedTask, type Refusals, wedgedFindings } from './wedged.js';

const OLD = 'worker-1@host:1:x';
const NEXT = 'worker-3@host:3:x';

const REFUSED: FailedTask = {
  ...{ itemId: 'a', worker: OLD, isMarked: true },
  message: '[TMPRL1100] Nondeterminism error: the patch is not there',
};

function refusals(task: Partial<FailedTask> = {}, more: Partial<Refusals> = {}): Refusals {
  const builds = new Map([
    [OLD, '0.1.0'],
    [NEXT, NEXT_VERSION],
  ]);
  return { next: NEXT_VERSION, tasks: [{ ...REFUSED, ...task }], builds, wedged: [], ...more };
}

describe('what may be reported as wedged while two versions are there', () => {
  it('is a run of the new version that an old worker has refused', () => {
    expect(wedgedFindings(refusals({}, { wedged: ['a'] }))).toEqual([]);
    expect(wedgedFindings(refusals())).toEqual([]);
  });

  it.each<[string, Refusals]>([
    ['a run that nobody refused', refusals({}, { wedged: ['b'] })],
    ['a run that fails for nobody', refusals({}, { tasks: [], wedged: ['a'] })],
    ['a run that the new version refuses', refusals({ worker: NEXT })],
    ['a run that an unknown worker refuses', refusals({ worker: 'worker-9@host:9:x' })],
    ['a run of the old version that an old worker refuses', refusals({ isMarked: false })],
    ['a run that an old worker fails otherwise', refusals({ message: 'out of memory' })],
  ])('is not %s', (_, found) => {
    expect(wedgedFindings(found)).toHaveLength(1);
  });
});
