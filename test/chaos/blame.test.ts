import { describe, expect, it } from 'vitest';
import type { AttemptFact } from '../audit/recovery-facts.js';
import { causeOf } from './blame.js';
import type { Inflicted } from './inflict.js';
import type { Fault } from './plan.js';

/** Five seconds on this process. */
const ENDED: AttemptFact = {
  ...{ itemId: 'a', visit: 1, stage: 'first', unit: '', attempt: 1, result: 'crash', errorClass: 'WORKER_CRASH' },
  worker: 'worker-1@host:77:abc',
  startedAt: new Date(100_000),
  endedAt: new Date(105_000),
};

/** Less than a heartbeat timeout of two seconds. */
const SHORT: AttemptFact = { ...ENDED, endedAt: new Date(101_999) };

function inflicted(does: Fault['does'], fromMs: number, backMs: number | null, pid: number | null = null): Inflicted {
  const to = backMs === null ? null : new Date(backMs);
  return { fault: { atMs: 0, forMs: 0, does }, from: new Date(fromMs), to, backAt: to, pid };
}

const KILL = { kind: 'kill', part: 'worker-1' } as const;
const FREEZE = { kind: 'freeze', part: 'worker-1' } as const;
const POSTGRES = { kind: 'kill', part: 'postgres' } as const;
const TEMPORAL = { kind: 'freeze', part: 'temporal' } as const;
const wire = (name: 'workersToPostgres' | 'workersToTemporal' | 'apiToPostgres') =>
  ({ kind: 'cut', wire: name, delayMs: 0 }) as const;

describe('what may have ended an attempt', () => {
  it.each<[string, string, AttemptFact, Inflicted]>([
    ['the death of its process', 'killed', ENDED, inflicted(KILL, 101_000, 104_000, 77)],
    ['a freeze of its process', 'frozen', ENDED, inflicted(FREEZE, 101_000, 104_000, 77)],
    ['a freeze that it claimed after', 'frozen', ENDED, inflicted(FREEZE, 90_000, 97_000, 77)],
    ['a database that was away', 'database', ENDED, inflicted(POSTGRES, 101_000, 104_000)],
    ['a database that is not back', 'database', ENDED, inflicted(POSTGRES, 50_000, null)],
    ['a lock that was lost before', 'database', ENDED, inflicted(wire('workersToPostgres'), 80_000, 91_000)],
    ['a short run while Temporal stood still', 'engine', SHORT, inflicted(TEMPORAL, 95_000, 100_500)],
    ['a short run on a broken wire to Temporal', 'engine', SHORT, inflicted(wire('workersToTemporal'), 95_000, 97_000)],
  ])('is %s', (_, cause, attempt, fault) => {
    expect(causeOf(attempt, [fault])).toBe(cause);
  });

  it.each<[string, AttemptFact, Inflicted]>([
    ['the death of another worker', ENDED, inflicted({ kind: 'kill', part: 'worker-2' }, 101_000, 104_000, 77)],
    ['the death of an earlier process', ENDED, inflicted(KILL, 99_500, 99_900, 76)],
    ['the death of a process that nobody knows', ENDED, inflicted(KILL, 101_000, 104_000)],
    ['a freeze of a later process', ENDED, inflicted(FREEZE, 101_000, 104_000, 78)],
    ['a freeze of before', ENDED, inflicted(FREEZE, 90_000, 96_999, 77)],
    ['a fault that came after', ENDED, inflicted(KILL, 105_001, 106_000, 77)],
    ['a database that was back long before', ENDED, inflicted(POSTGRES, 80_000, 90_999)],
    ['a wire to the database that was mended long before', ENDED, inflicted(wire('workersToPostgres'), 80_000, 90_999)],
    ['Temporal, if it could miss a heartbeat', ENDED, inflicted(TEMPORAL, 95_000, 110_000)],
    ['the wire to Temporal, if it could', ENDED, inflicted(wire('workersToTemporal'), 95_000, 110_000)],
    ['Temporal before a short run', SHORT, inflicted(TEMPORAL, 90_000, 96_999)],
    ['trouble of the API', SHORT, inflicted({ kind: 'freeze', part: 'api' }, 101_000, 103_000)],
    ['a wire of the API', SHORT, inflicted(wire('apiToPostgres'), 101_000, 103_000)],
  ])('is not %s', (_, attempt, fault) => {
    expect(causeOf(attempt, [fault])).toBeNull();
  });

  it('is the surest of several', () => {
    const ledger = [inflicted(TEMPORAL, 99_000, 104_000), inflicted(POSTGRES, 99_000, 104_000)];

    expect(causeOf(SHORT, ledger)).toBe('database');
    expect(causeOf(SHORT, [...ledger, inflicted(KILL, 101_000, 104_000, 77)])).toBe('killed');
  });
});
