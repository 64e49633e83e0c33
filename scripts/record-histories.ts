import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

/** Records the histories in test/histories again, from real runs on a real server: `npx tsx scripts/record-histories.ts`.
 *  Do so only when the workflow has a new way through it (add the run to test/support/recorded-runs.ts first), or after a
 *  change that is kept apart by `patched()`: a history that no longer replays is what the tests are there to show. */
const root = resolve(import.meta.dirname, '..');
const vitest = resolve(root, 'node_modules/.bin/vitest');
const { status } = spawnSync(vitest, ['run', '--project', 'integration', 'test/workflows/replay.test.ts'], {
  cwd: root,
  env: { ...process.env, RECORD_HISTORIES: '1' },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
