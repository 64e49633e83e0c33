import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Maintenance, openMaintenance } from '../support/maintenance.js';

let maintenance: Maintenance;
beforeAll(async () => {
  maintenance = await openMaintenance();
});
afterAll(() => maintenance.close());

describe('a run of a retired workflow that was on its way when this version took over', () => {
  it.each([
    ['retention', {}],
    ['stats-refresh', {}],
    ['discover-npm', { keyword: 'skill', perRun: 7 }],
    ['enrich-skills', { perRun: 7 }],
  ])('ends: %s', async (workflow, input) => {
    const worker = await maintenance.work();
    const id = await maintenance.play(workflow, input);
    await worker.stop();
    expect((await maintenance.client.workflow.getHandle(id).describe()).status.name).toBe('COMPLETED');
    expect(await maintenance.jobs(workflow)).toMatchObject([{ status: 'completed', errors: [] }]);
  });
});
