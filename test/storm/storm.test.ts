import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/start/parts/from-domains.js';
import { type Installation, startInstallation } from '../support/installation.js';
import { runStorm } from './storm-run.js';
import { linesOfStorm, stormFindings } from './storm-verdict.js';

const ITEMS = 60;

/** Shorter than by default, so that what must be waited for is soon over; the counts are the real ones. */
const SETTINGS = { BREAKER_PROBE_AFTER: '4s', BREAKER_PROBE_MAX: '8s' };

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation(SETTINGS);
}, 180_000);
afterAll(() => installation.stop());

/** The short version of `npm run storm`. */
it('an outage spends few tries, holds everybody else at no cost, and is followed by a release at a limited pace', async () => {
  const storm = { items: ITEMS, probeEveryMs: 8_000, limitMs: 120_000, say: () => undefined };
  const report = await runStorm(installation, storm);

  console.log(linesOfStorm(report).join('; '));
  expect(stormFindings(report, ITEMS, loadConfig(SETTINGS))).toEqual([]);
  expect(report.shown.item).toMatchObject({ state: 'SECOND', diagnosis: { reason: 'breaker_open' } });
}, 300_000);
