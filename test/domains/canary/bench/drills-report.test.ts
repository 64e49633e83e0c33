import { describe, expect, it } from 'vitest';
import type { ItemVerdict, RoundKind, RoundVerdict } from '../../../../src/domains/canary/start/drill/verdict.js';
import { drillTable, figuresOf, KINDS } from './drills-report.js';

const ITEM: ItemVerdict = {
  ...{ id: 'item', state: 'DONE', isHit: true, seenAfterMs: 100, seenBy: 'presence', doneAfterMs: 3_000, refused: 0 },
  ...{ elsewhereAfterMs: null, runAgain: [], finishedRunAgain: [], doubled: [], missing: [], problems: [] },
};

function drill(kind: RoundKind, ...elsewhere: (number | null)[]): RoundVerdict {
  const items = elsewhere.map((elsewhereAfterMs) => ({ ...ITEM, elsewhereAfterMs }));
  return { kind, worker: { id: 'w', name: 'worker-1', pid: 1 }, lockWaitMs: 0, items, problems: [] };
}

/** Drills of every kind: kills that take so long with and without the setting, and freezes. */
function figures(kills: { with: number[]; without: number[] }, freezes = { with: [2_000], without: [2_000] }) {
  const drillsOf = (side: 'with' | 'without') => [
    ...kills[side].map((ms) => drill('kill', ms)),
    ...freezes[side].flatMap((ms) => [drill('freeze', ms), drill('freezeInCommit', ms)]),
  ];
  return figuresOf({ with: drillsOf('with'), without: drillsOf('without') });
}

describe('the report of drills', () => {
  it('takes the latest item of each drill, and of these the median and the worst', () => {
    const kills = [drill('kill', 100, 300), drill('kill', 400, null), drill('kill', 200)];
    const [kill] = figuresOf({ with: kills, without: kills });

    expect(kill).toMatchObject({
      medians: { with: 300 },
      worst: { with: 400 },
      ratio: 1,
      times: { with: [300, 400, 200] },
    });
  });

  it.each([
    ['kills take half as long with the setting', { with: [500], without: [1_000] }, [2_000, 2_000], [true, true, true]],
    ['kills take longer than half', { with: [501], without: [1_000] }, [2_000, 2_000], [false, true, true]],
    ['freezes take a tenth longer', { with: [500], without: [1_000] }, [2_200, 2_000], [true, true, true]],
    ['freezes take longer than that', { with: [500], without: [1_000] }, [2_201, 2_000], [true, false, false]],
    ['no kill was measured', { with: [], without: [1_000] }, [2_000, 2_000], [false, true, true]],
  ])('says which goals are met where %s', (_, kills, [frozenWith, frozenWithout], met) => {
    const seen = figures(kills, { with: [frozenWith ?? NaN], without: [frozenWithout ?? NaN] });

    expect(seen.map((each) => each.met)).toEqual(met);
  });

  it('shows a person both sides of each kind', () => {
    const table = drillTable(figures({ with: [300], without: [1_200] }));

    expect(table).toHaveLength(2 + 2 * KINDS.length);
    expect(table[2]).toMatch(/^kill -9 +with +1 +300 ms +300 ms +0\.25 +0\.5 at most: met$/);
    expect(table[3]).toMatch(/^ +without +1 +1200 ms +1200 ms$/);
  });
});
