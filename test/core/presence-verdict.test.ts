import { describe, expect, it } from 'vitest';
import { presenceVerdict, type Sightings, type WorkerLook } from '../../src/core/presence-verdict.js';

const GONE_FOR_MS = 250;

function at(ms: number): Date {
  return new Date(Date.UTC(2030, 0, 1) + ms);
}

/** By default, a worker that was seen long ago and was not found dead. */
function worker(look: Partial<WorkerLook>): WorkerLook {
  return { id: 'w', isHeld: false, seenAt: at(-5_000), seenGoneAt: null, ...look };
}

/** Gives one session these looks in order, and returns the looks at which it calls the worker dead. */
function deadAt(...looks: [ms: number, look: Partial<WorkerLook> | null][]): number[] {
  let known: Sightings = new Map();
  const found: number[] = [];
  for (const [ms, look] of looks) {
    const seen = { now: at(ms), workers: look ? [worker(look)] : [] };
    const verdict = presenceVerdict(known, seen, GONE_FOR_MS);
    known = verdict.known;
    if (verdict.dead.length > 0) found.push(ms);
  }
  return found;
}

const HELD = { isHeld: true };
const GONE = { isHeld: false };

describe('a session that watches one worker', () => {
  it.each<[what: string, looks: Parameters<typeof deadAt>, dead: number[]]>([
    [
      'sees its lock held',
      [
        [0, HELD],
        [250, HELD],
        [500, HELD],
      ],
      [],
    ],
    [
      'never saw its lock held',
      [
        [0, GONE],
        [250, GONE],
        [60_000, GONE],
      ],
      [],
    ],
    [
      'sees it gone once only',
      [
        [0, HELD],
        [250, GONE],
      ],
      [],
    ],
    [
      'sees it gone twice, too close together',
      [
        [0, HELD],
        [100, GONE],
        [349, GONE],
      ],
      [],
    ],
    [
      'sees it gone twice, 250 ms apart',
      [
        [0, HELD],
        [100, GONE],
        [350, GONE],
      ],
      [350],
    ],
    [
      'sees it gone, and looks more often',
      [
        [0, HELD],
        [125, GONE],
        [250, GONE],
        [375, GONE],
      ],
      [375],
    ],
    [
      'sees it gone for long after a pause of its own',
      [
        [0, HELD],
        [60_000, GONE],
      ],
      [],
    ],
    [
      'sees it held again in between',
      [
        [0, HELD],
        [100, GONE],
        [225, HELD],
        [350, GONE],
        [475, GONE],
      ],
      [],
    ],
    [
      'sees it gone again later',
      [
        [0, HELD],
        [100, GONE],
        [225, HELD],
        [350, GONE],
        [600, GONE],
      ],
      [600],
    ],
    [
      'hears from it after the lock went',
      [
        [0, HELD],
        [100, GONE],
        [350, { seenAt: at(200) }],
      ],
      [],
    ],
    [
      'hears its last word after the lock went',
      [
        [0, HELD],
        [100, GONE],
        [350, { seenAt: at(101) }],
        [600, { seenAt: at(101) }],
      ],
      [600],
    ],
    [
      'says so until somebody has acted on it',
      [
        [0, HELD],
        [100, GONE],
        [350, GONE],
        [475, GONE],
      ],
      [350, 475],
    ],
    [
      'sees it sign off',
      [
        [0, HELD],
        [100, null],
        [350, null],
      ],
      [],
    ],
    [
      'sees it sign off after the lock went',
      [
        [0, HELD],
        [100, GONE],
        [225, null],
        [350, GONE],
        [600, GONE],
      ],
      [],
    ],
  ])('%s', (_, looks, dead) => {
    expect(deadAt(...looks)).toEqual(dead);
  });

  it.each<[what: string, look: Partial<WorkerLook>, dead: number[]]>([
    ['is believed at once', { seenGoneAt: at(-1_000) }, [0]],
    ['is not believed of one that holds its lock', { seenGoneAt: at(-1_000), isHeld: true }, []],
    ['is not believed of one that was seen since', { seenGoneAt: at(-1_000), seenAt: at(-500) }, []],
  ])('finds a verdict that was not carried out, which %s', (_, look, dead) => {
    expect(deadAt([0, look])).toEqual(dead);
  });
});

describe('a session that watches several workers', () => {
  it('judges each worker separately', () => {
    const known: Sightings = new Map([
      ['gone', at(0)],
      ['held', null],
      ['just', null],
    ]);
    const workers = [
      worker({ id: 'gone' }),
      worker({ id: 'held', isHeld: true }),
      worker({ id: 'just' }),
      worker({ id: 'new', isHeld: true }),
      worker({ id: 'unknown' }),
    ];

    const verdict = presenceVerdict(known, { now: at(250), workers }, GONE_FOR_MS);

    expect(verdict.dead).toEqual(['gone']);
    expect(verdict.known).toEqual(
      new Map([
        ['gone', at(0)],
        ['held', null],
        ['just', at(250)],
        ['new', null],
      ]),
    );
  });
});
