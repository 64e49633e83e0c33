import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.js';
import { keepTemporalAway } from './temporal-away.js';

/** Past the stuck threshold of 15 s, and two sweeps. */
const AWAY_MS = 20_000;

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
}, 180_000);
afterAll(() => installation.stop());

/** The short version of `npm run outage`. */
it('Temporal away for longer than the stuck threshold costs nothing but the time', async () => {
  const report = await keepTemporalAway(installation, { awayMs: AWAY_MS, items: 5, say: () => undefined });
  console.log(JSON.stringify(report));

  expect(report.health).toBe('degraded');
  const { inStage, ...others } = report.reasons;
  expect(new Set(Object.values(others).flat())).toEqual(new Set(['engine_unreachable']));
  // Some of these are still at work, as their rows say.
  for (const reason of inStage) expect(['engine_unreachable', 'running']).toContain(reason);
  expect(report).toMatchObject({ items: 25, done: 25, doubled: 0, missing: 0, finishedAgain: [] });
  // Nothing is held against anybody: no rescue, no try, no crash, no other run than the first.
  expect(report).toMatchObject({ rescues: 0, restarted: 0, errors: 0, crashes: 0, receipts: {} });
  expect(report.finished).toBeGreaterThan(report.items);
  // Interrupted, and gone on from the checkpoint: from the beginning it would have taken all of its time. One that the SDK lets
  // go on until it is done is as good.
  const interrupted = report.longStages.filter(({ attempt }) => attempt > 1);
  expect(interrupted.length).toBeGreaterThan(0);
  for (const { lastMs, ofMs } of interrupted) expect(lastMs).toBeLessThan(ofMs);
  expect(report.longStages).toHaveLength(5);
}, 180_000);
