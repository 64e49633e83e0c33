import type { Caller } from '../../../api/http/auth.js';
import { hasRole, maySee } from '../../../api/http/permissions.js';
import { AppError } from '../../../core/errors.js';
import type { Sql } from '../../../ports/sql.js';
import { type FileRecord, findFile } from '../db/files.js';

/** The answer is the same for somebody else's file and for a file that never existed, so that ids leak nothing. */
export function noSuchFile(id: string): AppError {
  return new AppError('not_found', `there is no file ${id}`);
}

export function noSuchBatch(id: string): AppError {
  return new AppError('not_found', `there is no batch ${id}`);
}

/** Contents are private: operators see where a file is, and only its owner and admins read it or change it. */
export function mayHandle(caller: Caller, { owner }: { owner: string }): boolean {
  return owner === caller.sub || hasRole(caller, 'admin');
}

export async function findSeenFile(sql: Sql, caller: Caller, id: string): Promise<FileRecord> {
  const file = await findFile(sql, id);
  if (!file || !maySee(caller, file)) throw noSuchFile(id);
  return file;
}

export async function findHandledFile(sql: Sql, caller: Caller, id: string): Promise<FileRecord> {
  const file = await findFile(sql, id);
  if (!file || !mayHandle(caller, file)) throw noSuchFile(id);
  return file;
}
