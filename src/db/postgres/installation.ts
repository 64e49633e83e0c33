import type { DatabasePlace, Identity } from '../../core/installation.js';
import type { Sql } from '../../ports/sql.js';

const COLUMNS = 'id, name, cluster, database_oid AS oid';

/** The identity of this database; null: no process has started here yet. */
export async function findIdentity(sql: Sql): Promise<Identity | null> {
  const { rows } = await sql.query<Identity>(`SELECT ${COLUMNS} FROM installation`);
  return rows[0] ?? null;
}

/** Finds the identity, or makes it. The runs of a version before the identity are without a name, so an item that was started fixes
 *  the name. */
export async function ensureIdentity(sql: Sql): Promise<Identity> {
  const found = await findIdentity(sql);
  if (found) return found;
  const { cluster, oid } = await readPlace(sql);
  await sql.query(
    `INSERT INTO installation (name, cluster, database_oid, queues_renewed_at)
     SELECT CASE WHEN EXISTS (SELECT 1 FROM items WHERE started OR accepted_at IS NOT NULL) THEN '' END, $1, $2,
       CASE WHEN NOT EXISTS (SELECT 1 FROM items) THEN now() END
     ON CONFLICT DO NOTHING`,
    [cluster, oid],
  );
  const made = await findIdentity(sql);
  if (!made) throw new Error('the identity of the installation was deleted while it was being made');
  return made;
}

/** Where this database is now. A role may lack the right to ask for the server's identifier. */
export async function readPlace(sql: Sql): Promise<DatabasePlace> {
  const { rows } = await sql.query<{ oid: string; mayAsk: boolean }>(
    `SELECT oid::text AS oid, has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') AS "mayAsk"
     FROM pg_database WHERE datname = current_database()`,
  );
  const [row] = rows;
  if (!row) throw new Error('the database does not know itself');
  if (!row.mayAsk) return { cluster: null, oid: row.oid };
  const system = await sql.query<{ cluster: string }>(
    'SELECT system_identifier::text AS cluster FROM pg_control_system()',
  );
  return { cluster: system.rows[0]?.cluster ?? null, oid: row.oid };
}

/** Fixes the name under which the runs of this database are in Temporal, unless another process has. */
export async function keepName(sql: Sql, name: string): Promise<Identity> {
  await sql.query('UPDATE installation SET name = $1 WHERE name IS NULL', [name]);
  return ensureIdentity(sql);
}

/** Notes that this place is the database's own. */
export async function recordMove(sql: Sql): Promise<void> {
  const { cluster, oid } = await readPlace(sql);
  await sql.query('UPDATE installation SET cluster = $1, database_oid = $2', [cluster, oid]);
}

/** Lets the next process that starts give this database other names in Temporal. Runs under the former names are lost to it, so the
 *  sweep starts them anew under the new names. The id changes too, because the former names may belong to another database. */
export async function renameIdentity(sql: Sql): Promise<void> {
  await sql.query('UPDATE installation SET id = gen_random_uuid(), name = NULL, created_at = now()');
}

/** Lets the API start all runs anew that wait for a worker. */
export async function forgetRenewal(sql: Sql): Promise<void> {
  await sql.query('UPDATE installation SET queues_renewed_at = NULL, renewed_to = NULL, renewed_to_pipeline = NULL');
}

/** Makes this database another installation. The workers, the task tokens and the notices that are not delivered yet belong to the
 *  original: a token would end an attempt of the original, and a notice would be sent twice. */
export async function renewIdentity(transaction: Sql): Promise<void> {
  await recordMove(transaction);
  await renameIdentity(transaction);
  await transaction.query(`UPDATE tasks SET token = NULL WHERE status = 'running' AND token IS NOT NULL`);
  await transaction.query('UPDATE workers SET stopped_at = now() WHERE stopped_at IS NULL');
  await transaction.query('DELETE FROM notice_groups');
  await transaction.query('UPDATE outbox SET routed_at = now() WHERE routed_at IS NULL');
  await transaction.query(
    `UPDATE deliveries SET failed_at = now(), last_error = 'left to the original of this database'
     WHERE delivered_at IS NULL AND failed_at IS NULL`,
  );
}

/** The processes of ours that are connected to this database, besides this one. */
export async function listConnected(sql: Sql): Promise<string[]> {
  const { rows } = await sql.query<{ name: string }>(
    `SELECT DISTINCT application_name AS name FROM pg_stat_activity
     WHERE datname = current_database() AND (application_name IN ('api', 'watcher') OR application_name LIKE '% presence')
     ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}
