import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.js';
import { runChaos } from './chaos-run.js';
import { DONE_WITHIN_MS } from './report.js';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
}, 180_000);
afterAll(() => installation.stop());

/** The short version of `npm run chaos`. */
describe('canaries submitted while random faults hit every part', () => {
  it('are all done soon after healing, nothing lost, nothing twice, and each recovery with its receipt', async () => {
    const report = await runChaos(installation, { items: 60, forMs: 30_000, seed: 4709, say: () => undefined });

    console.log(JSON.stringify({ excused: report.excused, unexplained: report.unexplained.length }));
    expect(report.findings).toEqual([]);
    expect(report.complaints).toEqual([]);
    expect([...report.recovery, ...report.unexplained, ...report.differences]).toEqual([]);
    expect(report).toMatchObject({ accepted: 60, rescues: 0, exhausted: 0, poison: 0, passed: true });
    expect(report.lastItemMs).toBeLessThanOrEqual(DONE_WITHIN_MS);
    // The faults met work.
    expect(report.crashedAttempts).toBeGreaterThan(0);
    expect(report.requests.repeated).toBeGreaterThan(0);
  }, 240_000);
});
