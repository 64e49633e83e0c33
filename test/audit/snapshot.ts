import type pg from 'pg';

/** Everything that `read` asks is as of one moment: what moves between two statements would look broken, or pass for sound. */
export async function asOfOneMoment<T>(pool: pg.Pool, read: (sql: pg.ClientBase) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return await read(client);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}
