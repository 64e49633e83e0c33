import type pg from 'pg';
import { inTransaction } from '../../../db/postgres/client.js';
import { raiseEvent } from '../../../db/recovery/outbox.js';
import { lockItem } from '../../../db/spine/item-row.js';
import type { Sql } from '../../../ports/sql.js';
import type { DeletedFile } from './deletions.js';

/** The owner has so long to act on the warning. */
const NOTICE_DAYS = 7;

/** The file failed again after the warning, or was never warned of. */
const UNWARNED = `(f.warned_at IS NULL OR f.warned_at < i.ended_at)`;

/** Failed for longer than a failure is kept without a warning; `$2` is how many days a failed file is kept. */
function isToWarn(days: string): string {
  return `f.deleting_at IS NULL AND ${UNWARNED} AND i.ended_at < now() - greatest(0, ${days}::int - ${NOTICE_DAYS}) * interval '1 day'`;
}

/** Failed for longer than it is kept, and warned of at least a week ago. As a condition on the rows `f` and `i`. */
export function isToDelete(days: string): string {
  return `f.deleting_at IS NULL AND i.ended_at < now() - ${days}::int * interval '1 day' AND NOT ${UNWARNED}
    AND f.warned_at < now() - interval '${NOTICE_DAYS} days'`;
}

export interface OldFailure extends DeletedFile {
  is: 'to_warn' | 'to_delete';
}

/** Failed files that are to be warned of or deleted, in the order of their ids. */
export async function listOldFailures(
  sql: Sql,
  { behind, keptDays, limit }: { behind: string | null; keptDays: number; limit: number },
): Promise<OldFailure[]> {
  const { rows } = await sql.query<OldFailure>(
    `SELECT f.id, f.blob_key AS "blobKey", CASE WHEN ${isToWarn('$2')} THEN 'to_warn' ELSE 'to_delete' END AS is
     FROM items i JOIN files f ON f.id = i.id
     WHERE i.pipeline = 'file' AND i.state = 'failed' AND i.ended_at IS NOT NULL AND ($1::uuid IS NULL OR i.id > $1)
       AND ((${isToWarn('$2')}) OR (${isToDelete('$2')}))
     ORDER BY i.id LIMIT $3`,
    [behind, keptDays, limit],
  );
  return rows;
}

interface Warned {
  owner: string;
  name: string;
  email: string | null;
  visit: number;
  deletionDate: Date;
}

/** Stores the warning and the event that tells the owner, if the file is still to be warned of. */
export async function warnOwner(pool: pg.Pool, fileId: string, keptDays: number): Promise<boolean> {
  return inTransaction(pool, async (transaction) => {
    if (!(await lockItem(transaction, fileId))) return false;
    const { rows } = await transaction.query<Warned>(
      `UPDATE files f SET warned_at = now() FROM items i
       WHERE f.id = $1 AND i.id = f.id AND i.state = 'failed' AND ${isToWarn('$2')}
       RETURNING f.owner, f.name, f.email, i.visit,
         greatest(i.ended_at + $2::int * interval '1 day', now() + interval '${NOTICE_DAYS} days') AS "deletionDate"`,
      [fileId, keptDays],
    );
    const [warned] = rows;
    if (!warned) return false;
    const { owner, name: fileName, email: mailTo, visit } = warned;
    const deletionDate = warned.deletionDate.toISOString();
    return raiseEvent(transaction, {
      ...{ id: `deletion_warned:${fileId}:${visit}`, kind: 'deletion_warned', pipeline: 'file', itemId: fileId, owner },
      ...(mailTo !== null && { mailTo }),
      sentence: `${fileName} failed and is deleted after ${deletionDate}. Retry it before then to keep it.`,
      payload: { userId: owner, fileId, fileName, deletionDate },
    });
  });
}
