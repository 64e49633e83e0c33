import { describe, expect, it } from 'vitest';
import { engineFactsOf, indexedFactsOf } from '../../src/core/run-look.js';
import { ago, facts } from '../support/item-facts.js';

it.each([
  [{ is: 'alive', wedgedBy: null }, { engine: 'alive' }],
  [
    { is: 'alive', wedgedBy: 'boom' },
    { engine: 'alive', wedgedBy: 'boom' },
  ],
  [
    { is: 'gone', how: 'terminated' },
    { engine: 'gone', closedAs: 'terminated' },
  ],
  [{ is: 'unknown' }, { engine: 'unknown' }],
] as const)('hands the look %o to the diagnosis as %o', (look, facts) => {
  expect(engineFactsOf(look)).toEqual(facts);
});

/** An item that last changed so many seconds ago. */
function changed(seconds: number, wedgedBy: string | null = null) {
  const { item, now, running } = facts({ item: { beatAt: ago(seconds) } });
  return { item: { ...item, updatedAt: ago(seconds) }, now, running, swept: wedgedBy === null ? null : { wedgedBy } };
}

describe('the search index', () => {
  it.each([
    ['lists an open run', { is: 'alive' } as const, changed(600), { engine: 'alive' }],
    [
      'lists a run that ended',
      { is: 'gone', how: 'failed' } as const,
      changed(600),
      { engine: 'gone', closedAs: 'failed' },
    ],
    ['has not listed a run for half a minute', undefined, changed(30), { engine: 'gone', closedAs: 'never_existed' }],
    ['may not have listed a run yet', undefined, changed(29), {}],
    [
      'lists an open run that the sweep found wedged',
      { is: 'alive' } as const,
      changed(600, 'boom'),
      { engine: 'alive', wedgedBy: 'boom' },
    ],
    [
      'lists as ended a run that the sweep found wedged',
      { is: 'gone', how: 'failed' } as const,
      changed(600, 'boom'),
      { engine: 'gone', closedAs: 'failed' },
    ],
  ])('%s, and the diagnosis is told just that', (_, found, row, expected) => {
    expect(indexedFactsOf(found, row)).toEqual(expected);
  });

  it.each([
    ['was accepted', { acceptedAt: ago(5) }],
    ['was changed', { updatedAt: ago(5) }],
    ['gave a sign of life', { beatAt: ago(5) }],
  ])('may not list the run yet of an item that %s just now', (_, change) => {
    const row = changed(600);
    expect(indexedFactsOf(undefined, { ...row, item: { ...row.item, ...change } })).toEqual({});
  });
});
