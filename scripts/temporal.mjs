import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { findTemporalCli } from './find-temporal-cli.mjs';
import { readEnvironment } from './read-environment.mjs';

/** The `temporal` CLI that the embedded server comes with, for whoever has none on the PATH. It asks the server that our settings
 *  name: the CLI itself knows nothing of TEMPORAL_PORT. */
const settings = readEnvironment(resolve(import.meta.dirname, '..'));
const port = settings.TEMPORAL_PORT ?? '7233';
const env = { ...process.env, TEMPORAL_ADDRESS: settings.TEMPORAL_ADDRESS ?? `127.0.0.1:${port}` };
const { status, error } = spawnSync(findTemporalCli(), process.argv.slice(2), { stdio: 'inherit', env });
if (error) throw error;
process.exitCode = status ?? 1;
