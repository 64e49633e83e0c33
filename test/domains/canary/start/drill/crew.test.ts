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

/** A drill that waits for no worker, on the machine of the tests. */
function drill(more: Partial<Parameters<typeof assembleCrew>[0]> = {}) {
  const signal = new AbortController().signal;
  return { database, host: hostname(), patienceMs: 0, say: () => undefined, signal, ...more };
}

describe('the crew of a drill', () => {
  it('is refused with a sentence while no worker could take over, and counts only running workers', async () => {
    await expect(assembleCrew(drill(), 'kill')).rejects.toThrow(/no worker that serves canaries is there/);

    await register('of-another-pipeline', { pid: 2, pipelines: ['file'] });
    // A process of this machine has this pid, but it is not a worker.
    await register('long-gone', { host: hostname(), pid: process.pid });
    await register('retired', { pid: 3 });
    await retireWorker(testDatabase.pool, 'retired-id');
    await register('silent', { pid: 4 });
    await testDatabase.pool.query(`UPDATE workers SET seen_at = now() - interval '20 seconds' WHERE id = 'silent-id'`);
    await register('one', { pid: 5 });
    await expect(assembleCrew(drill(), 'kill')).rejects.toThrow(/one \(pid 5\) is the only worker/);

    await register('two', { pid: 6 });
    const crew = await assembleCrew(drill(), 'kill');
    expect(crew.map(({ name }) => name).sort()).toEqual(['one', 'two']);
  });

  it('waits for a second worker, which may be starting again after an earlier drill, and says so', async () => {
    await testDatabase.pool.query('DELETE FROM workers');
    await register('one', { pid: 5 });
    const said: string[] = [];
    const joining: Promise<void>[] = [];
    function say(line: string): void {
      said.push(line);
      joining.push(register('two', { pid: 6 }));
    }

    const crew = await assembleCrew(drill({ patienceMs: 60_000, say }), 'kill');

    await Promise.all(joining);
    expect(crew.map(({ name }) => name).sort()).toEqual(['one', 'two']);
    expect(said).toEqual(['one (pid 5) is the only worker; waiting up to 60 s for another to start']);
  });

  it('is waited for no longer than the drill runs', async () => {
    await testDatabase.pool.query('DELETE FROM workers');
    await register('one', { pid: 5 });
    const stop = new AbortController();
    const say = () => stop.abort(new Error('interrupted'));

    await expect(assembleCrew(drill({ patienceMs: 60_000, say, signal: stop.signal }), 'kill')).rejects.toThrow(
      'interrupted',
    );
  });

  it('freezes no worker of another machine, where it could not wake it', async () => {
    await register('one', { pid: 5 });
    await register('two', { pid: 6 });

    await expect(assembleCrew(drill(), 'freeze')).rejects.toThrow(/another-machine.*can't be woken/);
  });
});
