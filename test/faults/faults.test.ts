import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.js';
import { type Field, openField } from './field.js';
import { SHORT_GROUPS } from './groups.js';
import { reportOf } from './matrix.js';
import { playGroup } from './play.js';
import { SETTINGS } from './settings.js';

let installation: Installation;
let field: Field;
beforeAll(async () => {
  installation = await startInstallation(SETTINGS);
  field = await openField(installation);
}, 180_000);
afterAll(async () => {
  await field.close();
  await installation.stop();
});

/** The short version of `npm run faults`. */
describe('faults that are really made', () => {
  it.each(SHORT_GROUPS)(
    'are told apart, and what is done about each is recorded: $name',
    async (group) => {
      await installation.ready();

      const report = reportOf(
        await playGroup(field, group),
        group.cases.map(({ reason }) => reason),
      );

      expect(report.cases.flatMap(({ name, wrong }) => wrong.map((each) => `${name}: ${each}`))).toEqual([]);
      expect(report).toMatchObject({ missing: [], passed: true });
    },
    200_000,
  );
});
