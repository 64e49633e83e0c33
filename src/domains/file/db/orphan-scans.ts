import { v7 as uuidv7 } from 'uuid';
import type { Sql } from '../../../ports/sql.js';

/** Keys that are shown of one owner. */
const SAMPLES = 10;

export interface OrphanBlob {
  ownerKey: string;
  key: string;
  sizeBytes: number;
}

export async function beginScan(sql: Sql, isDryRun: boolean): Promise<string> {
  const id = uuidv7();
  await sql.query('INSERT INTO orphan_scans (id, is_dry_run) VALUES ($1, $2)', [id, isDryRun]);
  return id;
}

/** Adds the orphans of one batch to the figures. A batch that was added before is not added again, because a page that was killed is
 *  read once more. */
export async function addToScan(
  sql: Sql,
  { scanId, batch, orphans }: { scanId: string; batch: number; orphans: readonly OrphanBlob[] },
): Promise<void> {
  await sql.query(
    `WITH scan AS (
       UPDATE orphan_scans SET batches = $2::int + 1 WHERE id = $1 AND batches = $2::int AND ended_at IS NULL RETURNING id
     )
     INSERT INTO orphan_figures (scan_id, owner_key, count, total_size, samples)
     SELECT scan.id, o.owner_key, count(*), sum(o.size), (array_agg(o.key ORDER BY o.key))[1:${SAMPLES}]
     FROM scan, unnest($3::text[], $4::text[], $5::bigint[]) AS o (owner_key, key, size) GROUP BY scan.id, o.owner_key
     ON CONFLICT (scan_id, owner_key) DO UPDATE SET count = orphan_figures.count + excluded.count,
       total_size = orphan_figures.total_size + excluded.total_size,
       samples = (orphan_figures.samples || excluded.samples)[1:${SAMPLES}]`,
    [
      scanId,
      batch,
      orphans.map(({ ownerKey }) => ownerKey),
      orphans.map(({ key }) => key),
      orphans.map(({ sizeBytes }) => sizeBytes),
    ],
  );
}

/** From now on this scan is shown. The scans that began before it are deleted. */
export async function endScan(sql: Sql, scanId: string): Promise<void> {
  await sql.query('UPDATE orphan_scans SET ended_at = now() WHERE id = $1 AND ended_at IS NULL', [scanId]);
  await sql.query(
    `DELETE FROM orphan_scans old USING orphan_scans ended
     WHERE ended.id = $1 AND old.id <> ended.id AND old.began_at <= ended.began_at`,
    [scanId],
  );
}

/** The keys among these that belong to no file. */
export async function listKeysWithoutFile(sql: Sql, keys: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql.query<{ key: string }>(
    'SELECT key FROM unnest($1::text[]) AS k (key) WHERE NOT EXISTS (SELECT 1 FROM files WHERE blob_key = key)',
    [keys],
  );
  return new Set(rows.map(({ key }) => key));
}

export interface OrphanReport {
  endedAt: Date;
  count: number;
  totalSize: number;
  samples: string[];
}

/** The figures of the last scan that has ended. `ownerKey` null: of all owners. Null: there was no scan yet. */
export async function findOrphanReport(sql: Sql, ownerKey: string | null): Promise<OrphanReport | null> {
  const { rows } = await sql.query<OrphanReport>(
    `SELECT scan.ended_at AS "endedAt", coalesce(f.count, 0) AS count, coalesce(f.total_size, 0) AS "totalSize",
       coalesce(f.samples, '{}') AS samples
     FROM (SELECT id, ended_at FROM orphan_scans WHERE ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT 1) scan
     LEFT JOIN LATERAL (
       SELECT sum(o.count)::float8 AS count, sum(o.total_size)::float8 AS total_size, (
           SELECT array_agg(key ORDER BY key) FROM (
             SELECT unnest(s.samples) AS key FROM orphan_figures s
             WHERE s.scan_id = scan.id AND ($1::text IS NULL OR s.owner_key = $1) ORDER BY key LIMIT ${SAMPLES}) first) AS samples
       FROM orphan_figures o WHERE o.scan_id = scan.id AND ($1::text IS NULL OR o.owner_key = $1)) f ON true`,
    [ownerKey],
  );
  return rows[0] ?? null;
}
