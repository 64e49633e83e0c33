import { AsyncLocalStorage } from 'node:async_hooks';
import type { Sql } from '../ports/sql.js';
import { type GiveUp, patiently, withoutEnd } from './patience.js';

/** The reads of one attempt. */
export interface Reading extends GiveUp {
  /** Reads that have not been answered yet. */
  pending: number;
}

const attempts = new AsyncLocalStorage<Reading>();

/** Runs a stage so that its reads are known to be those of this attempt. */
export function readingFor<T>(reading: Reading, stage: () => Promise<T>): Promise<T> {
  return attempts.run(reading, stage);
}

/** What stages read with: a database that is away is waited for, as long as the stage has time, so that a restart costs no stage one
 *  of its few tries. Not for writing, for a repeated statement may have been carried out before. */
export function patientReads(sql: Sql): Sql {
  return {
    async query(...query) {
      const reading = attempts.getStore();
      if (reading) reading.pending += 1;
      try {
        return await patiently(() => sql.query(...query), withoutEnd(), reading);
      } finally {
        if (reading) reading.pending -= 1;
      }
    },
  };
}
