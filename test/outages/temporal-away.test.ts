import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.js';
import { outageFindings } from './outage-verdict.js';
import { keepTemporalAway } from './temporal-away.js';

/** Past the stuck threshold of 15 s, and two sweeps. */
const AWAY_MS = 20_000;
const OF_EACH_KIND = 5;

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
}, 180_000);
afterAll(() => installation.stop());

/** The short version of `npm run outage`. */
it('Temporal away for longer than the stuck threshold costs nothing but the time', async () => {
  const report = await keepTemporalAway(installation, { awayMs: AWAY_MS, items: OF_EACH_KIND, say: () => undefined });

  console.log(JSON.stringify(report));
  expect(outageFindings(report, OF_EACH_KIND)).toEqual([]);
}, 180_000);
