import { databaseFaultOf } from './postgres/database-fault.js';

/** Whether the database, and not the statement, is at fault: the same statement may well succeed later. */
export function isTransient(error: unknown): boolean {
  const fault = databaseFaultOf(error);
  return fault === 'away' || fault === 'busy';
}
