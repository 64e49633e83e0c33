import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedHorizon, readFeed } from '../../../src/db/reads/event-feed.js';
import type { Finding, Patient } from '../../../src/start/doctor/check.js';
import { databaseChecks } from '../../../src/start/doctor/database-checks.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { until } from '../../support/until.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function examine(name: string): Promise<Finding | undefined> {
  const patient = { pool: database.pool } as unknown as Patient;
  return databaseChecks.find((check) => check.name === name)?.run(patient);
}

/** The statements as the runbook gives them. */
function documentedStatements(heading: string): string {
  const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
  return /```sql\n([\s\S]*?)```/.exec(page.slice(page.indexOf(heading)))?.[1] ?? '';
}

/** Returns the id of the entry's item. */
async function addEntry(xact: string): Promise<string> {
  const itemId = randomUUID();
  await database.pool.query(
    `INSERT INTO audit (item_id, pipeline, owner, version, visit, epoch, to_state, trigger, actor, actor_type, xact)
     VALUES ($1, 'canary', 'ada', 1, 1, 1, 'FIRST', 'submitted', 'ada', 'user', ${xact})`,
    [itemId],
  );
  return itemId;
}

describe('the order of events', () => {
  it('is well where every entry was written here', async () => {
    await addEntry('pg_current_xact_id()');
    expect(await examine('event order')).toMatchObject({ level: 'ok' });
  });

  it('is a problem after a restore, until the statements of the runbook have been run; old events are then not told as new', async () => {
    const before = await feedHorizon(database.pool);
    const itemId = await addEntry(`(pg_current_xact_id()::text::bigint + 1000000)::text::xid8`);
    expect(await examine('event order')).toMatchObject({
      level: 'problem',
      remedy: expect.stringContaining('docs/operations.md') as string,
    });

    await database.pool.query(documentedStatements('### After a restore'));

    expect(await examine('event order')).toMatchObject({ level: 'ok' });
    await expect(database.pool.query('UPDATE audit SET trigger = trigger')).rejects.toThrow(/audit/);
    // Transactions of other tests' databases hold the horizon back for a moment.
    await until('the entry is told', async () => {
      const { events } = await readFeed(database.pool, before, { limit: 10 });
      return events.filter((each) => each.itemId === itemId).length === 1;
    });
    const now = await feedHorizon(database.pool);
    expect((await readFeed(database.pool, now, { limit: 10 })).events).toEqual([]);
  });
});
