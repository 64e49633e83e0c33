import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRecoveryReader } from '../../../src/db/reads/recovery-figures.js';
import { PIPELINES } from '../../../src/domains/tables.js';
import type { Sql } from '../../../src/ports/sql.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { SCHEDULES } from '../../support/schedules.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Plans every statement instead of running it. */
function explaining(plans: string[]): Sql {
  return {
    async query(text, values = []) {
      const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, [...values]);
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return { rows: [], rowCount: 0 };
    },
  };
}

it('reads no table of what has ended from one end to the other', async () => {
  const { pool } = database;
  await pool.query(
    `INSERT INTO items (id, pipeline, owner, state, ended_at)
     SELECT gen_random_uuid(), 'canary', 'alice', 'DONE', now() - n * interval '1 minute' FROM generate_series(30000, 1, -1) n`,
  );
  await pool.query(
    `INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, ended_at, result)
     SELECT gen_random_uuid(), 'canary', 1, 'first', 1, 1, now() - n * interval '1 minute', now() - n * interval '1 minute', 'done'
     FROM generate_series(100000, 1, -1) n`,
  );
  await pool.query(`INSERT INTO tasks (item_id, visit, stage, status) SELECT id, 1, 'first', 'done' FROM items`);
  await pool.query(
    `INSERT INTO receipts (item_id, pipeline, state, visit, epoch, reason, sentence, last_sign_at, seen_at, acted_at, actor, actor_type)
     SELECT gen_random_uuid(), 'canary', 'FIRST', 1, 2, 'backlog', '', seen, seen, seen, 'system', 'system'
     FROM generate_series(20000, 1, -1) n, LATERAL (SELECT now() - n * interval '1 minute' AS seen) s`,
  );
  await pool.query(
    `INSERT INTO job_executions (job, status, timeout_at, ended_at)
     SELECT 'sweep-canary', 'completed', now(), now() FROM generate_series(1, 20000)`,
  );
  await pool.query('VACUUM ANALYZE items, attempts, tasks, receipts, job_executions');

  const plans: string[] = [];
  const read = createRecoveryReader(explaining(plans), PIPELINES, SCHEDULES);
  await read();

  expect(plans.length).toBe(7);
  const scanned = plans.filter((plan) => /Seq Scan on (items|attempts|tasks|receipts|job_executions)/.test(plan));
  expect(scanned).toEqual([]);
  // The count of waiting items is shared by the scrapes of a minute.
  await read();
  expect(plans.length).toBe(13);
});
