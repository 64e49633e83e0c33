import { describe, expect, it } from 'vitest';
import type { Facts } from './facts.js';
import type { Entry } from './ledger.js';
import { findingsOf } from './verdict.js';

const PLAIN: Entry = {
  key: 'k1',
  id: 'plain',
  asked: { stageMs: [1, 1, 1], units: 0, decision: false },
  decided: false,
  lookAt: 0,
  lookAgainMs: 0,
};
const RICH: Entry = {
  ...PLAIN,
  key: 'k2',
  id: 'rich',
  asked: { stageMs: [1, 1, 1], units: 2, decision: true },
  decided: true,
};

function way(itemId: string, ...states: string[]): Facts['moves'] {
  return states.map((to, at) => ({ itemId, version: at + 1, from: states[at - 1] ?? null, to, trigger: 'moved' }));
}

function effects(itemId: string, ...names: [stage: string, unit?: string][]): Facts['effects'] {
  return names.map(([stage, unit = '']) => ({ itemId, visit: 1, stage, unit, count: 1 }));
}

/** Two canaries as they should be, with whatever a test breaks. */
function facts(broken: (sound: Facts) => void = () => undefined): Facts {
  const all: Facts = {
    items: [
      { id: 'plain', state: 'DONE', version: 4, createdAt: new Date(), endedAt: new Date() },
      { id: 'rich', state: 'DONE', version: 6, createdAt: new Date(), endedAt: new Date() },
    ],
    effects: [
      ...effects('plain', ['first'], ['second'], ['third']),
      ...effects('rich', ['first'], ['spread', 'unit-1'], ['spread', 'unit-2'], ['second'], ['third']),
    ],
    moves: [
      ...way('plain', 'FIRST', 'SECOND', 'THIRD', 'DONE'),
      ...way('rich', 'FIRST', 'SPREADING', 'SECOND', 'AWAITING', 'THIRD', 'DONE'),
    ],
    decisions: [{ itemId: 'rich', count: 1 }],
  };
  broken(all);
  return all;
}

const CASES: [name: string, kind: string, itemId: string, broken: (sound: Facts) => void][] = [
  ['an accepted item that is not there', 'lost', 'plain', (all) => void all.items.shift()],
  ['an effect that is missing', 'lost', 'plain', (all) => void all.effects.shift()],
  ['a unit that is missing', 'lost', 'rich', (all) => void all.effects.splice(4, 1)],
  ['an item that failed', 'lost', 'plain', ({ items }) => void (items[0]!.state = 'FAILED')],
  ['an effect that came twice', 'doubled', 'rich', ({ effects: all }) => void (all[4]!.count = 2)],
  ['an effect of another visit', 'doubled', 'plain', ({ effects: all }) => void (all[0]!.visit = 2)],
  ['an item that nobody was told of', 'doubled', 'x', ({ items }) => void items.push({ ...items[0]!, id: 'x' })],
  ['a decision made twice', 'doubled', 'rich', ({ decisions }) => void (decisions[0]!.count = 2)],
  ['an item that is not done', 'stuck', 'plain', ({ items }) => void (items[0]!.endedAt = null)],
  ['a gap in the versions', 'trail', 'plain', ({ moves }) => void (moves[1]!.version = 7)],
  ['a missing line', 'trail', 'plain', ({ moves }) => void moves.splice(1, 1)],
  ['a line that came twice', 'trail', 'plain', ({ moves }) => void moves.splice(1, 0, moves[1]!)],
  ['a row that moved without a line', 'trail', 'plain', ({ items }) => void (items[0]!.version = 5)],
  [
    'a way that no canary may go',
    'trail',
    'rich',
    (all) => void (all.moves = [...all.moves.slice(0, 4), ...way('rich', 'FIRST', 'DONE')]),
  ],
];

describe('the verdict of a kill run', () => {
  it('finds nothing where everything is there once', () => {
    expect(findingsOf(facts(), [PLAIN, RICH])).toEqual([]);
  });

  it('lets a rescue stay where it was', () => {
    const rescued = facts(({ moves, items }) => {
      moves.splice(1, 0, { itemId: 'plain', version: 2, from: 'FIRST', to: 'FIRST', trigger: 'rescue' });
      for (const move of moves.slice(2, 5)) move.version += 1;
      items[0]!.version += 1;
    });
    expect(findingsOf(rescued, [PLAIN, RICH])).toEqual([]);
  });

  it.each(CASES)('finds %s', (_, kind, itemId, broken) => {
    expect(findingsOf(facts(broken), [PLAIN, RICH])).toContainEqual(expect.objectContaining({ kind, itemId }));
  });

  it('does not hold an item against a client that was never told of its acceptance', () => {
    const unanswered: Entry = { ...PLAIN, key: 'k3', id: null };
    expect(findingsOf(facts(), [PLAIN, RICH, unanswered])).toEqual([]);
  });
});
