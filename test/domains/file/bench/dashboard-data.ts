import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../../../src/db/postgres/migrate.js';
import { blobPrefixOf } from '../../../../src/domains/file/db/blob-key.js';

/** The owner whose figures are read; the same files in every scene. */
export const MEASURED = 'measured';
const MEASURED_FILES = 1_000;

/** The owner whose stuck files are all retried. */
export const HEAVY = 'heavy';
export const HEAVY_STUCK = 5_000;

/** Files of each of the other owners. */
const FILES_OF_OTHERS = 500;

export interface FileScene {
  name: string;
  url: string;
  control: pg.Client;
}

/** A database with so many files of many owners, written by SQL and without runs. */
export async function openFileScene(serverUrl: string, name: string, files: number): Promise<FileScene> {
  const at = new URL(serverUrl);
  at.pathname = `/${name}`;
  const server = new pg.Client({ connectionString: serverUrl });
  await server.connect();
  await server.query(`CREATE DATABASE ${name}`).finally(() => server.end());
  await migrate(at.href, join(import.meta.dirname, '../../../../prisma/migrations'));
  const control = new pg.Client({ connectionString: at.href, application_name: 'control' });
  await control.connect();
  await control.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  // Every file's item is written a statement before: millions of foreign keys need not be looked up.
  await control.query('SET session_replication_role = replica');
  await fill(control, { files, owner: `'owner-' || n / ${FILES_OF_OTHERS}`, stuck: 0.01 });
  await fill(control, { files: MEASURED_FILES, owner: `'${MEASURED}'`, stuck: 0.2 });
  await fill(control, { files: HEAVY_STUCK, owner: `'${HEAVY}'`, stuck: 1 });
  await control.query('SET session_replication_role = origin');
  await control.query(
    `WITH scan AS (INSERT INTO orphan_scans (id, is_dry_run, ended_at) VALUES (gen_random_uuid(), true, now()) RETURNING id)
     INSERT INTO orphan_figures SELECT id, 'uploads/' || md5(n::text) || '/', 3, 300, ARRAY['a', 'b', 'c'] FROM scan, generate_series(1, 1000) n
     UNION ALL SELECT id, $1, 3, 300, ARRAY['a', 'b', 'c'] FROM scan`,
    [blobPrefixOf(MEASURED)],
  );
  // What autovacuum would do within minutes, so that it does not do it while we measure.
  await control.query('VACUUM (ANALYZE)');
  return { name, url: at.href, control };
}

/** Of the files that are not stuck, one in twenty has failed and one in a hundred waits for its upload; the others are ready. */
async function fill(
  control: pg.Client,
  { files, owner, stuck }: { files: number; owner: string; stuck: number },
): Promise<void> {
  await control.query(
    `INSERT INTO upload_batches (id, owner, status, files, unconfirmed, expires_at)
     SELECT gen_random_uuid(), owner, CASE WHEN n % 10 = 0 THEN 'active' ELSE 'completed' END, 50, 0, now() + interval '1 day'
     FROM (SELECT n, ${owner} AS owner FROM generate_series(0, $1::int / 50) n) made`,
    [files],
  );
  await control.query(
    `INSERT INTO items (id, pipeline, owner, state, version, started, entered_at, beat_at, created_at, updated_at, ended_at, end_reason,
       error_class, error_message, run_ended_at)
     SELECT uuidv7(made - now()), 'file', owner, state, 4, state <> 'registered', moved, moved, made, moved,
       CASE WHEN state IN ('ready', 'failed') THEN moved END, CASE WHEN state = 'failed' THEN 'BAD_INPUT' END,
       CASE WHEN state = 'failed' THEN 'BAD_INPUT' END, CASE WHEN state = 'failed' THEN 'the header is broken' END, NULL
     FROM (
       SELECT ${owner} AS owner, now() - ($1::int - n) * interval '0.5 seconds' - interval '2 days' AS made,
         now() - ($1::int - n) * interval '0.5 seconds' - interval '2 hours' AS moved,
         CASE WHEN n % 1000 < $2::float8 * 1000 THEN (ARRAY['queued', 'extracting', 'chunking', 'embedding'])[n % 4 + 1]
           WHEN n % 20 = 3 THEN 'failed' WHEN n % 100 = 4 THEN 'registered' ELSE 'ready' END AS state
       FROM generate_series(0, $1::int - 1) n) drawn`,
    [files, stuck],
  );
  await control.query(
    `INSERT INTO files (id, owner, batch_id, client_id, name, mime_type, size_bytes, blob_key, created_at, confirmed_at)
     SELECT i.id, i.owner, (SELECT id FROM upload_batches LIMIT 1), i.id::text, 'report.pdf', 'application/pdf', 1000,
       'uploads/x/' || i.id, i.created_at, CASE WHEN i.state <> 'registered' THEN i.created_at + interval '1 minute' END
     FROM items i WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.id = i.id)`,
  );
}
