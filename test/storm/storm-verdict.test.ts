import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/start/parts/from-domains.js';
import type { StormReport } from './storm-run.js';
import { stormFindings } from './storm-verdict.js';

const SETTINGS = loadConfig({});
const ITEMS = 300;

/** As it is with the settings by default: five open it, and in 90 s two are let through. */
function report(broken: Partial<StormReport> = {}): StormReport {
  return {
    ...{ failures: 9, toOpen: 5, early: 4, inFlight: 2, later: 2, openedAt: new Date(0), openInVainMs: 95_000 },
    ...{ mostOfAnItem: 1, outageSeconds: 96, secondsToDone: 140, secondsToClosed: 141 },
    ...{ startsBySecond: [1, 2], peakPerSecond: 16, steadyPerSecond: 8, workers: 2, breakerEvents: 2 },
    ...{ done: ITEMS, effects: ITEMS, failedItems: 0, rescues: 0, receipts: 0 },
    shown: { item: {}, health: { status: 'degraded', parts: { breakers: { status: 'away' } } } },
    ...broken,
  };
}

describe('the verdict on a storm', () => {
  it('finds nothing where only those failed that had to', () => {
    expect(stormFindings(report(), ITEMS, SETTINGS)).toEqual([]);
  });

  it.each<[string, Partial<StormReport>]>([
    ['the breaker opened too early', { toOpen: 4 }],
    ['enough had failed long before it opened', { early: 5 }],
    ['nobody knows after how many it opened', { toOpen: 0 }],
    ['more were at work than can be', { inFlight: 201 }],
    ['more were let through than its settings say', { later: 3 }],
    ['as many were let through in less time', { openInVainMs: 85_000 }],
    ['an item spent all of its tries', { mostOfAnItem: 3 }],
    ['an item is not done', { done: ITEMS - 1 }],
    ['an effect is there twice', { effects: ITEMS + 1 }],
    ['an item failed', { failedItems: 1 }],
    ['an item was rescued', { rescues: 1 }],
    ['there is a receipt', { receipts: 1 }],
    ['they were released too fast', { peakPerSecond: 33 }],
    ['one worker did it all', { workers: 1 }],
    ['it opened again', { breakerEvents: 4 }],
    ['health said that all is well', { shown: { item: {}, health: { status: 'ok' } } }],
  ])('finds that %s', (_, broken) => {
    expect(stormFindings(report(broken), ITEMS, SETTINGS)).toHaveLength(1);
  });
});
