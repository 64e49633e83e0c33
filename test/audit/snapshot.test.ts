import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { asOfOneMoment } from './snapshot.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const INSERT = `INSERT INTO holds (pipeline, kind, until, reason, set_by) VALUES ('canary', $1, now(), 'a look', 'root')`;
const COUNT = 'SELECT count(*)::int AS n FROM holds';

it('sees nothing that is written between two of its statements', async () => {
  const { pool } = database;

  const counts = await asOfOneMoment(pool, async (sql) => {
    const before = await sql.query<{ n: number }>(COUNT);
    await pool.query(INSERT, ['pause']);
    const after = await sql.query<{ n: number }>(COUNT);
    return [before, after].map(({ rows }) => rows[0]?.n);
  });

  expect(counts).toEqual([0, 0]);
  expect((await pool.query<{ n: number }>(COUNT)).rows).toEqual([{ n: 1 }]);
});

it('writes nothing', async () => {
  const written = asOfOneMoment(database.pool, (sql) => sql.query(INSERT, ['breaker']));

  await expect(written).rejects.toThrow('read-only transaction');
});
