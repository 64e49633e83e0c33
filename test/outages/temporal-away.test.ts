import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.js';
import { keepTemporalAway } from './temporal-away.js';

/** Past the stuck threshold of 15 s, and two sweeps. */
const AWAY_MS = 20_000;

/** A busy machine must not look like a frozen one. */
const SETTINGS = { CANARY_BEATS: '5s' };

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation(SETTINGS);
}, 180_000);
afterAll(() => installation.stop());

/** The short version of `npm run outage`. */
it('Temporal away for longer than the stuck threshold costs nothing but the time', async () => {
  const report = await keepTemporalAway(installation, { awayMs: AWAY_MS, items: 3, say: () => undefined });
  console.log(JSON.stringify(report));

  expect(report.health).toBe('degraded');
  expect(new Set(Object.values(report.reasons).flat())).toEqual(new Set(['engine_unreachable']));
  expect(report).toMatchObject({ items: 15, done: 15, doubled: 0, missing: 0, finishedAgain: [] });
  // Nothing is held against anybody: no rescue, no try, no crash, no other run than the first.
  expect(report).toMatchObject({ rescues: 0, restarted: 0, errors: 0, crashes: 0, receipts: {} });
  expect(report.finished).toBeGreaterThan(report.items);
  // From the beginning it would have taken all of it.
  for (const { attempt, lastMs, ofMs } of report.longStages) {
    expect(attempt).toBeGreaterThan(1);
    expect(lastMs).toBeLessThan(ofMs);
  }
  expect(report.longStages).toHaveLength(3);
}, 180_000);
