import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterFailure,
  afterSuccess,
  type Breaker,
  type BreakerSettings,
  canOpen,
  type Change,
  holdMs,
  isQuiet,
  openingChange,
  opensBreaker,
  passDecision,
} from '../../src/core/breaker.js';
import { ERROR_CLASSES } from '../../src/core/error-class.js';

const settings: BreakerSettings = {
  share: 0.5,
  failures: 5,
  sample: 50,
  window: '5m',
  probeAfter: '30s',
  probeMax: '10m',
  releasePerSecond: 1,
  releaseMaxPerSecond: 20,
};

const MINUTE = 60_000;

/** A breaker in virtual time. It stores each decision like the database and does nothing else. */
function virtual(waiting = 0, of = settings) {
  let now = 0;
  let nextPassAt = 0;
  let isClosed = false;
  let current: Omit<Breaker, 'dueInMs'> = { ...fieldsOf(openingChange(of, 1)), waiting };
  become(openingChange(of, 1));

  function fieldsOf(change: Change): Omit<Breaker, 'dueInMs' | 'waiting'> {
    const { state, probing, probeEveryMs, perSecond, successes, round } = change;
    return { state, probing, probeEveryMs, perSecond, successes, round };
  }
  function become(change: Change): void {
    current = { ...fieldsOf(change), waiting: current.waiting };
    if (change.nextPassInMs !== null) nextPassAt = now + change.nextPassInMs;
  }
  function seen(): Breaker {
    return { ...current, dueInMs: nextPassAt - now };
  }
  return {
    seen,
    isClosed: () => isClosed,
    now: () => now,
    nextPassAt: () => nextPassAt,
    wait(ms: number) {
      now += ms;
    },
    to(time: number) {
      now = Math.max(now, time);
    },
    /** Null: the item passed. */
    claim(random = 0.5): number | null {
      const decision = passDecision(seen(), of, random);
      if (decision.is === 'hold') return decision.forMs;
      become(decision.change);
      return null;
    },
    succeed() {
      const change = afterSuccess(seen(), of);
      if (change === 'close') isClosed = true;
      else become(change);
    },
    fail(isOfClass = true) {
      const change = afterFailure(seen(), of, isOfClass);
      if (change) become(change);
    },
  };
}

describe('a breaker opens', () => {
  it.each([
    ['at five failures and half of the attempts', { attempts: 10, failures: 5, failedTasks: 5 }, true],
    ['when nothing else ended', { attempts: 5, failures: 5, failedTasks: 3 }, true],
    ['not below five failures', { attempts: 4, failures: 4, failedTasks: 4 }, false],
    ['not below half of the attempts', { attempts: 11, failures: 5, failedTasks: 5 }, false],
    ['not for one task, however often it fails', { attempts: 9, failures: 9, failedTasks: 1 }, false],
    ['for two', { attempts: 9, failures: 9, failedTasks: 2 }, true],
  ])('%s', (_, sample, expected) => {
    expect(opensBreaker(settings, sample)).toBe(expected);
  });

  it('for every class but crashes and the class of an item’s own fault', () => {
    expect(ERROR_CLASSES.filter((each) => !canOpen(each))).toEqual(['BAD_INPUT', 'WORKER_CRASH']);
    const own = ERROR_CLASSES.filter((each) => !canOpen(each, ['SCAN_TIMEOUT']));
    expect(own).toEqual(['SCAN_TIMEOUT', 'BAD_INPUT', 'WORKER_CRASH']);
  });
});

describe('an open breaker', () => {
  it('lets one item through after 30 s, then more at doubling waits up to ten minutes, however they end', () => {
    for (const tells of [true, false]) {
      const breaker = virtual();
      const passedAt: number[] = [];
      while (passedAt.length < 9) {
        breaker.to(breaker.nextPassAt());
        expect(breaker.claim()).toBeNull();
        passedAt.push(breaker.now() / 1_000);
        expect(breaker.claim()).not.toBeNull();
        if (tells) breaker.fail();
      }
      const waits = passedAt.map((at, n) => at - (passedAt[n - 1] ?? 0));
      expect(waits).toEqual([30, 60, 120, 240, 480, 600, 600, 600, 600]);
    }
  });

  it('holds the other items until the next place is due, spread over a little longer', () => {
    const breaker = virtual();
    breaker.wait(10_000);
    expect([0, 0.5, 1].map((random) => breaker.claim(random))).toEqual([20_000, 23_000, 26_000]);
  });

  it('holds the other items only for a moment while one item is being tried, because its success releases them', () => {
    const breaker = virtual();
    breaker.wait(30_000);
    breaker.claim();
    expect(breaker.claim(1)).toBeLessThan(5_000);
    breaker.fail();
    expect(breaker.claim(0)).toBe(60_000);
  });

  it('learns nothing from a failure of another class, and lets the next item through in its place', () => {
    const breaker = virtual();
    breaker.wait(30_000);
    breaker.claim();
    breaker.fail(false);
    expect(breaker.seen()).toMatchObject({ state: 'open', probing: false, round: 1, dueInMs: 0, probeEveryMs: 30_000 });
  });
});

describe('after a success', () => {
  function releasing(waiting = 0) {
    const breaker = virtual(waiting);
    breaker.wait(30_000);
    breaker.claim();
    breaker.wait(100);
    breaker.succeed();
    return breaker;
  }

  it('one item a second is released, doubling with each second that went well, and past twenty it closes', () => {
    const breaker = releasing();
    const released: number[] = [];
    while (!breaker.isClosed()) {
      const { perSecond } = breaker.seen();
      breaker.to(breaker.nextPassAt());
      expect(breaker.claim()).toBeNull();
      released.push(perSecond);
      breaker.succeed();
    }
    const byPace = [1, 2, 4, 8, 16].map((pace) => released.filter((each) => each === pace).length);
    expect(byPace).toEqual([1, 2, 4, 8, 16]);
    expect(released).toHaveLength(31);
  });

  it('a failure of its class opens it again, as if for the first time, in a new round', () => {
    const breaker = releasing();
    const { round } = breaker.seen();
    breaker.claim();
    breaker.fail();
    expect(breaker.seen()).toMatchObject({ state: 'open', probeEveryMs: 30_000, dueInMs: 30_000, round: round + 1 });
  });

  it('a failure of another class changes nothing', () => {
    const breaker = releasing();
    const before = breaker.seen();
    breaker.fail(false);
    expect(breaker.seen()).toEqual(before);
  });

  it('the breaker is quiet when a place was free for so long that no item can be waiting', () => {
    const breaker = releasing();
    breaker.wait(30_000);
    expect(isQuiet(breaker.seen(), settings)).toBe(false);
    breaker.wait(1);
    expect(isQuiet(breaker.seen(), settings)).toBe(true);
    const crowded = releasing(1_000);
    crowded.wait(99_000);
    expect(isQuiet(crowded.seen(), settings)).toBe(false);
    expect(isQuiet({ ...virtual().seen(), dueInMs: -MINUTE * MINUTE }, settings)).toBe(false);
  });
});

describe('a breaker with many waiting items', () => {
  it('lets no more items pass than the pace allows, and two that kept their place', () => {
    const pace = fc.integer({ min: 1, max: 16 });
    const gaps = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 10, maxLength: 200 });
    fc.assert(
      fc.property(pace, gaps, (releasePerSecond, waits) => {
        const breaker = virtual(0, { ...settings, releasePerSecond });
        breaker.wait(30_000);
        breaker.claim();
        breaker.succeed();
        const passedAt: number[] = [];
        for (const wait of waits) {
          breaker.wait(wait);
          while (breaker.claim() === null) passedAt.push(breaker.now());
        }
        for (const from of passedAt) {
          const within = passedAt.filter((at) => at >= from && at < from + 1_000).length;
          expect(within).toBeLessThanOrEqual(releasePerSecond + 2);
        }
      }),
    );
  });

  it('holds items so that about as many come back in a second as are released at the fastest pace', () => {
    for (const waiting of [100, 1_000, 100_000]) {
      const breaker = { ...virtual(waiting).seen(), state: 'releasing' as const, perSecond: 1, dueInMs: 500 };
      const holds = Array.from({ length: 101 }, (_, n) => holdMs(breaker, settings, n / 100));
      const meanSeconds = holds.reduce((sum, each) => sum + each, 0) / holds.length / 1_000;
      expect(waiting / meanSeconds).toBeLessThanOrEqual(settings.releaseMaxPerSecond);
      expect(waiting / meanSeconds).toBeGreaterThan(settings.releaseMaxPerSecond * 0.9);
    }
  });

  it('holds for a whole number of milliseconds above zero, in every state', () => {
    const breakers = fc.record<Breaker>({
      state: fc.constantFrom('open', 'releasing'),
      dueInMs: fc.double({ min: -1e9, max: 1e9, noNaN: true }),
      probing: fc.boolean(),
      probeEveryMs: fc.integer({ min: 1, max: 600_000 }),
      perSecond: fc.integer({ min: 1, max: 100 }),
      successes: fc.nat(100),
      round: fc.nat(100),
      waiting: fc.nat(1_000_000),
    });
    fc.assert(
      fc.property(breakers, fc.double({ min: 0.001, max: 1, noNaN: true }), (breaker, random) => {
        const ms = holdMs(breaker, settings, random);
        expect(Number.isInteger(ms) && ms > 0).toBe(true);
      }),
    );
  });
});
