import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareUpgrade, type Upgrade } from './upgrade.js';

let upgrade: Upgrade;
beforeAll(async () => {
  upgrade = await prepareUpgrade();
}, 180_000);
afterAll(() => upgrade.close());

/** The short version of `npm run upgrade`. */
describe('a new version that takes the place of the old one under traffic', () => {
  it('loses no canary and no request, although its workflow and its table are changed', async () => {
    const report = await upgrade.run({
      canaries: 24,
      slowestStageMs: 2_000,
      isShared: true,
      limitMs: 170_000,
      say: () => undefined,
    });

    console.log(JSON.stringify({ histories: report.histories, wedged: report.marks.wedged }));
    expect(report.findings).toEqual([]);
    expect(report.empty).toEqual([]);
    expect(report).toMatchObject({ requests: { failed: 0 }, marks: { rescues: 0 }, passed: true });
  }, 180_000);
});
