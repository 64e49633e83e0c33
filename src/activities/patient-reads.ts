import { AsyncLocalStorage } from 'node:async_hooks';
import type { Sql } from '../ports/sql.js';
import { endlessWaits, type GiveUp, retryPatiently } from './patience.js';

/** The reads of one attempt. */
export interface Reading extends GiveUp {
  /** Reads that have not been answered yet. */
  pending: number;
}

const attempts = new AsyncLocalStorage<Reading>();

/** Runs a stage so that its reads are known as the reads of this attempt. */
export function runReading<T>(reading: Reading, stage: () => Promise<T>): Promise<T> {
  return attempts.run(reading, stage);
}

/** The connection that stages read with. It waits for a database that is away as long as the stage has time, so that a restart costs
 *  no stage one of its few tries. It is not for writing, because a repeated statement may have been carried out before. */
export function createPatientReads(sql: Sql): Sql {
  return {
    async query(...query) {
      const reading = attempts.getStore();
      if (reading) reading.pending += 1;
      try {
        return await retryPatiently(() => sql.query(...query), endlessWaits(), reading);
      } finally {
        if (reading) reading.pending -= 1;
      }
    },
  };
}
