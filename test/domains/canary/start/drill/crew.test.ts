import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerWorker, retireWorker } from '../../../../../src/db/recovery/workers.js';
import { assembleCrew } from '../../../../../src/domains/canary/start/drill/crew.js';
import {
  createDrillDatabase,
  type DrillDatabase,
} from '../../../../../src/domains/canary/start/drill/drill-database.js';
import { createTestDatabase, type TestDatabase } from '../../../../support/postgres.js';

let testDatabase: TestDatabase;
let database: DrillDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = createDrillDatabase(testDatabase.pool);
});
afterAll(() => testDatabase.drop());

async function register(name: string, more: { host?: string; pid?: number; pipelines?: string[] } = {}): Promise<void> {
  const worker = { host: 'another-machine', pid: 1, build: 'test', pipelines: ['canary'], ...more };
  await registerWorker(testDatabase.pool, { id: `${name}-id`, name, ...worker });
}

describe('the crew of a drill', () => {
  it('is refused with a sentence while nobody could take over, and counts only workers that are there', async () => {
    await expect(assembleCrew(database, 'kill', 'here')).rejects.toThrow(/no worker that serves canaries is there/);

    await register('of-another-pipeline', { pid: 2, pipelines: ['file'] });
    // A process of this machine with that number, but no worker: a table may say what it likes.
    await register('long-gone', { host: hostname(), pid: process.pid });
    await register('retired', { pid: 3 });
    await retireWorker(testDatabase.pool, 'retired-id');
    await register('silent', { pid: 4 });
    await testDatabase.pool.query(`UPDATE workers SET seen_at = now() - interval '20 seconds' WHERE id = 'silent-id'`);
    await register('one', { pid: 5 });
    await expect(assembleCrew(database, 'kill', hostname())).rejects.toThrow(/one \(pid 5\) is the only worker/);

    await register('two', { pid: 6 });
    const crew = await assembleCrew(database, 'kill', hostname());
    expect(crew.map(({ name }) => name).sort()).toEqual(['one', 'two']);
  });

  it('freezes no worker of another machine, where it could not wake it', async () => {
    await register('one', { pid: 5 });
    await register('two', { pid: 6 });

    await expect(assembleCrew(database, 'freeze', hostname())).rejects.toThrow(/another-machine.*can't be woken/);
  });
});
