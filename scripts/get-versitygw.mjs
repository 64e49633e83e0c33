// Builds the S3 server that the tests of the S3 store run against, where Go is there: about 90 s and 84 MB, once for all clones.
// `.ci/run` calls it. Without it those tests skip and say so.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { cachedVersitygw, locateVersitygw, VERSITYGW_VERSION } from './find-versitygw.mjs';

const MODULE = `github.com/versity/versitygw/cmd/versitygw@${VERSITYGW_VERSION}`;

/** A network that swallows packets must not hold up the tests, which can do without it. */
const LIMIT_MS = 600_000;

/** Builds into a folder of its own and moves the executable into place, so that two builds at once do no harm. */
function build(target) {
  mkdirSync(dirname(target), { recursive: true });
  const folder = mkdtempSync(join(dirname(target), 'unfinished-'));
  try {
    const { status, error, stderr } = spawnSync('go', ['install', '-trimpath', '-ldflags', '-s -w', MODULE], {
      env: { ...process.env, CGO_ENABLED: '0', GOBIN: folder },
      encoding: 'utf8',
      timeout: LIMIT_MS,
    });
    if (status === 0) return renameSync(join(folder, basename(target)), target);
    const lastLine = stderr?.trimEnd().split('\n').at(-1);
    console.log(`versitygw was not built (${error?.message ?? lastLine}); the tests of the S3 store will skip.`);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (!locateVersitygw()) {
  console.log(`building versitygw ${VERSITYGW_VERSION} with Go for the tests of the S3 store (about 90 s, once) …`);
  build(cachedVersitygw());
}
