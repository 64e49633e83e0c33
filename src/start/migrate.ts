import { join } from 'node:path';
import { ConfigError, projectRoot } from '../config.js';
import { loadConfig } from './parts/from-domains.js';
import { migrate } from '../db/postgres/migrate.js';
import { NO_DATABASE } from './parts/missing-servers.js';
import { runProcess } from './parts/run-process.js';

/** Brings the database of a split installation up to date; `npm start` does this by itself. */
async function main(): Promise<void> {
  const { directUrl } = loadConfig().database;
  if (!directUrl) throw new ConfigError([NO_DATABASE]);
  const { applied } = await migrate(directUrl, join(projectRoot, 'prisma', 'migrations'));
  process.stdout.write(applied.length > 0 ? `applied ${applied.join(', ')}\n` : 'nothing to apply\n');
}

await runProcess(main);
