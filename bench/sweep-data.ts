import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../src/db/postgres/migrate.js';

export const LIVE = 1_000;
export const STUCK = 50;

/** Stuck items have an owner of their own, by whom they are found again. */
const STUCK_OWNER = 'stuck';

/** One database of the benchmark, and a session in it without the product's limits. */
export interface Scene {
  name: string;
  url: string;
  finished: number;
  control: pg.Client;
}

/** Makes and fills a database. The live items lie far apart among the finished ones, each on a page of its own: no page that
 *  a sweep must read for one of them serves another, whatever the size. */
export async function openScene(serverUrl: string, name: string, finished: number): Promise<Scene> {
  const url = await openEmpty(serverUrl, name);
  const control = new pg.Client({ connectionString: url, application_name: 'control' });
  await control.connect();
  // Every task's item was written a statement before: millions of foreign keys need not be looked up.
  await control.query(`SET session_replication_role = replica`);
  await withoutIndexes(control, async () => {
    await control.query(ITEMS, [finished + LIVE, LIVE, STUCK, STUCK_OWNER]);
    for (const statement of HISTORY) await control.query(statement);
  });
  await control.query(`SET session_replication_role = origin`);
  // What autovacuum would do within minutes, so that it does not do it while we measure.
  await control.query('VACUUM (ANALYZE)');
  return { name, url, finished, control };
}

/** Makes a database with all tables and no rows. */
export async function openEmpty(serverUrl: string, name: string): Promise<string> {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await once(serverUrl, `CREATE DATABASE ${name}`);
  await migrate(url.href, join(import.meta.dirname, '../prisma/migrations'));
  return url.href;
}

/** To build the indexes afterwards takes half the time of feeding them row by row. */
async function withoutIndexes(control: pg.Client, load: () => Promise<void>): Promise<void> {
  const { rows } = await control.query<{ index: string; definition: string }>(
    `SELECT indexrelid::regclass AS index, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE indrelid = ANY (ARRAY['items', 'tasks', 'attempts', 'audit']::regclass[]) AND NOT indisprimary`,
  );
  for (const { index } of rows) await control.query(`DROP INDEX ${index}`);
  await load();
  for (const { definition } of rows) await control.query(definition);
}

/** One statement in the server's own database. */
async function once(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

/** One item every two seconds. Of the live ones that are not stuck, a third awaits a decision for an hour, a third is in a stage
 *  that takes hours and beats, and a third has just moved. */
const ITEMS = `
  INSERT INTO items (id, pipeline, owner, state, version, started, accepted_at, entered_at, beat_at, error_class,
    error_message, error_stage, end_reason, ended_at, created_at, updated_at)
  SELECT uuidv7(made - now()), 'canary', CASE WHEN is_stuck THEN $4 ELSE 'owner-' || n % 1000 END,
    CASE WHEN place IS NOT NULL THEN CASE WHEN place % 3 = 0 AND NOT is_stuck THEN 'AWAITING' ELSE 'SECOND' END
      WHEN has_failed THEN 'FAILED' ELSE 'DONE' END,
    CASE WHEN place IS NULL THEN 4 ELSE 2 END, true, made, moved, moved,
    CASE WHEN has_failed THEN 'NETWORK_ERROR' END, CASE WHEN has_failed THEN 'the other side hung up' END,
    CASE WHEN has_failed THEN 'third' END, CASE WHEN has_failed THEN 'NETWORK_ERROR' END,
    CASE WHEN place IS NULL THEN moved END, made, moved
  FROM (
    SELECT *, place IS NOT NULL AND place % ($2::int / $3::int) = 0 AS is_stuck, place IS NULL AND n % 50 = 7 AS has_failed,
      CASE WHEN place IS NULL THEN made + interval '1 minute'
        WHEN place % 3 = 2 AND place % ($2::int / $3::int) <> 0 THEN now() ELSE now() - interval '1 hour' END AS moved
    FROM (
      SELECT n, now() - ($1::int - n) * interval '2 seconds' - interval '1 hour' AS made,
        CASE WHEN n * $2::bigint / $1::int > (n - 1) * $2::bigint / $1::int THEN n * $2::bigint / $1::int END AS place
      FROM generate_series(1, $1::int) n) numbered) drawn`;

/** What the items above have behind them: three done stages of a finished one, one or two of a live one. */
const STAGES_OF_ITEMS = `
  FROM items i CROSS JOIN (VALUES ('first', 1), ('second', 2), ('third', 3)) AS s (stage, place)
  WHERE i.ended_at IS NOT NULL OR s.place = 1 OR (s.place = 2 AND i.state = 'AWAITING')`;

const HISTORY = [
  `INSERT INTO tasks (item_id, visit, stage, status, fence, attempt, claim_id, worker, started_at, beat_at, outcome, ended_at)
   SELECT i.id, 1, s.stage, 'done', 1, 1, gen_random_uuid(), 'worker-1', i.created_at, i.created_at, 'done', i.created_at
   ${STAGES_OF_ITEMS}`,
  `INSERT INTO tasks (item_id, visit, stage, status, fence, attempt, claim_id, token, worker, started_at, beat_at)
   SELECT id, 1, 'second', 'running', 1, 1, gen_random_uuid(), 'token', 'worker-1', beat_at,
     CASE WHEN owner = '${STUCK_OWNER}' THEN beat_at ELSE now() END
   FROM items WHERE ended_at IS NULL AND state = 'SECOND'`,
  `INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, worker, started_at, ended_at, result)
   SELECT i.id, 'canary', 1, s.stage, 1, 1, 'worker-1', i.created_at, i.created_at, 'done' ${STAGES_OF_ITEMS}`,
  `INSERT INTO audit (item_id, pipeline, version, visit, epoch, from_state, to_state, trigger, actor, actor_type, at, owner)
   SELECT id, pipeline, version, 1, 1, 'SECOND', state, 'done', 'worker', 'worker', entered_at, owner FROM items`,
];

export async function stuckIds(sql: pg.ClientBase | pg.Pool): Promise<string[]> {
  return idsOf(sql, `owner = '${STUCK_OWNER}'`);
}

export async function liveIds(sql: pg.ClientBase | pg.Pool): Promise<string[]> {
  return idsOf(sql, 'ended_at IS NULL');
}

async function idsOf(sql: pg.ClientBase | pg.Pool, condition: string): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>(`SELECT id FROM items WHERE ${condition} ORDER BY id`);
  return rows.map((row) => row.id);
}

/** What a sweep has rescued is stuck again: the next one finds the same picture. */
export async function stickAgain(sql: pg.ClientBase | pg.Pool, ids: readonly string[]): Promise<void> {
  await sql.query(
    `WITH silent AS (
       UPDATE items SET started = true, start_after = NULL, beat_at = now() - interval '1 hour', examined_at = NULL,
         rescues = 0, last_rescue_at = NULL, next_rescue_after = NULL
       WHERE id = ANY ($1::uuid[]))
     UPDATE tasks SET status = 'running', beat_at = now() - interval '1 hour'
     WHERE item_id = ANY ($1::uuid[]) AND stage = 'second'`,
    [ids],
  );
}
