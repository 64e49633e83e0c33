import { spawnSync } from 'node:child_process';
import { findTemporalCli } from './find-temporal-cli.mjs';

/** The `temporal` CLI that the embedded server comes with, for whoever has none on the PATH. */
const { status, error } = spawnSync(findTemporalCli(), process.argv.slice(2), { stdio: 'inherit' });
if (error) throw error;
process.exitCode = status ?? 1;
