import type { Sql } from '../ports/sql.js';
import { patiently, withoutEnd } from './patience.js';

/** What stages read with: a database that is away is waited for, so that its absence costs no stage one of its few tries. Not for
 *  writing, for a repeated statement may have been carried out before. */
export function patientReads(sql: Sql): Sql {
  return { query: (...query) => patiently(() => sql.query(...query), withoutEnd()) };
}
