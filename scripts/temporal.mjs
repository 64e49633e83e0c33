import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { findTemporalCli } from './find-temporal-cli.mjs';
import { readEnvironment } from './read-environment.mjs';

/** The `temporal` CLI that the embedded server comes with, for whoever has none on the PATH. It asks the server that our settings
 *  name: the CLI itself knows nothing of TEMPORAL_PORT. */
const settings = readEnvironment(resolve(import.meta.dirname, '..'));
const port = settings.TEMPORAL_PORT ?? '7233';
// The CLI takes TEMPORAL_TLS=false as a ban of TLS, whatever certificates are named.
const own = Object.entries(settings).filter(
  ([name, value]) => name.startsWith('TEMPORAL_') && value !== '' && !(name === 'TEMPORAL_TLS' && value === 'false'),
);
const { TEMPORAL_TLS: _, ...inherited } = process.env;
const address = settings.TEMPORAL_ADDRESS || `127.0.0.1:${port}`;
const env = { ...inherited, ...Object.fromEntries(own), TEMPORAL_ADDRESS: address };
const { status, error } = spawnSync(findTemporalCli(), process.argv.slice(2), { stdio: 'inherit', env });
if (error) throw error;
process.exitCode = status ?? 1;
