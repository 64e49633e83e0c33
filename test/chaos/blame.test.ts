import { describe, expect, it } from 'vitest';
import type { AttemptFact } from '../audit/recovery-facts.js';
import { blamedFor } from './blame.js';
import type { Inflicted } from './inflict.js';
import type { Fault } from './plan.js';

const ENDED: AttemptFact = {
  ...{ itemId: 'a', visit: 1, stage: 'first', unit: '', attempt: 1, result: 'crash', errorClass: 'SCAN_TIMEOUT' },
  worker: 'worker-1@host:77:abc',
  startedAt: new Date(100_000),
  endedAt: new Date(105_000),
};

function inflicted(does: Fault['does'], fromMs: number, toMs: number | null): Inflicted {
  const to = toMs === null ? null : new Date(toMs);
  return { fault: { atMs: 0, forMs: 0, does }, from: new Date(fromMs), to, pid: null };
}

const KILLED = { kind: 'kill', part: 'worker-1' } as const;

describe('what may have ended an attempt', () => {
  it.each([
    ['the death of its worker', inflicted(KILLED, 101_000, 101_000)],
    ['a fault that is not undone yet', inflicted(KILLED, 50_000, null)],
    ['a fault whose consequences it ran into', inflicted({ kind: 'freeze', part: 'temporal' }, 80_000, 90_000)],
    ['a wire of the workers', inflicted({ kind: 'stall', wire: 'workersToPostgres', delayMs: 0 }, 101_000, 103_000)],
  ])('is %s', (_, fault) => {
    expect(blamedFor(ENDED, [fault])).toEqual([fault]);
  });

  it.each([
    ['the death of another worker', inflicted({ kind: 'kill', part: 'worker-2' }, 101_000, 101_000)],
    ['trouble of the API', inflicted({ kind: 'freeze', part: 'api' }, 101_000, 103_000)],
    ['a wire of the API', inflicted({ kind: 'cut', wire: 'apiToPostgres', delayMs: 0 }, 101_000, 103_000)],
    ['a fault of long before', inflicted(KILLED, 10_000, 20_000)],
    ['a fault that came after', inflicted(KILLED, 106_000, 107_000)],
  ])('is not %s', (_, fault) => {
    expect(blamedFor(ENDED, [fault])).toEqual([]);
  });
});
