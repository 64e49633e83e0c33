import type { Config } from '../../config.js';

export const NO_DATABASE = 'DATABASE_URL: expected where Postgres is; npm start brings its own';
const NO_TEMPORAL = 'TEMPORAL_ADDRESS: expected where Temporal is; npm start brings its own';

/** The problems of a process that needs both servers and is not told where they are. */
export function listMissingServers({ database, temporal }: Pick<Config, 'database' | 'temporal'>): string[] {
  return [...(database.url ? [] : [NO_DATABASE]), ...(temporal.address ? [] : [NO_TEMPORAL])];
}
