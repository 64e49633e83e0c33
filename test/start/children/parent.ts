// Called as `parent.ts postgres|temporal <options as JSON>`: starts the server, prints what it got and stays.
import { startPostgres, type PostgresOptions } from '../../../src/start/embedded/embedded-postgres.js';
import { startTemporal, type TemporalOptions } from '../../../src/start/embedded/embedded-temporal.js';

const [kind, json = '{}'] = process.argv.slice(2);
const options = { ...(JSON.parse(json) as PostgresOptions & TemporalOptions), log: () => undefined };
const server = kind === 'postgres' ? await startPostgres(options) : await startTemporal(options);
const where = 'url' in server ? server.url : server.address;
process.stdout.write(`${JSON.stringify({ where, serverPid: server.pid, userId: process.getuid?.() })}\n`);
process.on('SIGTERM', () => void server.stop().then(() => process.exit(0)));
setInterval(() => undefined, 60_000);
