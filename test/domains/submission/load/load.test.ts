import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installation, startInstallation } from '../../../support/installation.js';
import { runLoad } from './load-run.js';
import { linesOfLoad, loadFindings, partsOf } from './load-verdict.js';

const ITEMS = 20;

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ SUBMISSION_ALLOW_LOCAL: 'true', JUDGE_RULES_MAY_APPROVE: 'true' });
}, 180_000);
afterAll(() => installation.stop());

/** The short version of `npm run load`. */
it('loses none of many submissions, does none twice, and ends each in its expected state', async () => {
  const report = await runLoad(installation, { items: ITEMS, inFlight: 10, stallMs: 120_000, say: () => undefined });

  console.log(linesOfLoad(report).join('\n'));
  expect(loadFindings(report)).toEqual([]);
  expect(report).toMatchObject({ published: 14, versions: 14 });
  expect(partsOf(report).map(({ part }) => part)).toEqual(
    expect.arrayContaining(['fetch', 'scanTier1', 'judgeTier2', 'publish', 'between stages']),
  );
}, 300_000);
