import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.js';
import { runKills } from './kill-run.js';
import { PHASES } from './phases.js';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
}, 180_000);
afterAll(() => installation.stop());

/** The short version of `npm run kills`. */
describe('canaries in flight while every part is killed in turn', () => {
  it('are all done in the end, nothing lost and nothing twice', async () => {
    const report = await runKills(installation, { canaries: 24, seed: 1, limitMs: 170_000, say: () => undefined });

    expect(report.findings).toEqual([]);
    expect(report.complaints).toEqual([]);
    expect(report).toMatchObject({ lost: 0, doubled: 0, stuck: 0, badTrails: 0, withoutReason: 0, passed: true });
    expect(report.phases.map(({ phase }) => phase)).toEqual(PHASES.map(({ name }) => name));
    // The kills met work: attempts died with their workers, requests with their API.
    expect(report.crashedAttempts).toBeGreaterThan(0);
    expect(report.requests.repeated).toBeGreaterThan(0);
  }, 180_000);
});
