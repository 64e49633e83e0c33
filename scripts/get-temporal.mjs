import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cachedTemporalCli, locateTemporalCli, TEMPORAL_VERSION } from './find-temporal-cli.mjs';
import { lastLines, runCommand, SetupError } from './run-command.mjs';

const MODULE = `github.com/temporalio/cli/cmd/temporal@${TEMPORAL_VERSION}`;
/** About 50 MB; a network that swallows packets must not hold up set-up for ever. */
const DOWNLOAD_LIMIT_MS = 300_000;

export const temporalStep = {
  title: 'getting the Temporal dev server',
  isNeeded: ({ env }) => !env.TEMPORAL_ADDRESS && !locate(env),
  async run(context) {
    const reasons = [];
    for (const way of [download, buildWithGo]) {
      const reason = await inCache(context.env, (folder) => way(context, folder));
      if (reason === undefined) return;
      reasons.push(reason);
    }
    throw new SetupError(
      `the Temporal dev server is missing: ${reasons.join('; ')}. Install the Temporal CLI ` +
        '(https://docs.temporal.io/cli) or Go (https://go.dev/dl), or set TEMPORAL_CLI_PATH or TEMPORAL_ADDRESS.',
    );
  },
};

function locate(env) {
  try {
    return locateTemporalCli(env);
  } catch (error) {
    throw new SetupError(error.message, { cause: error });
  }
}

/** Lets `fetch` fill a folder of its own and moves the executable into place: two set-ups at once do no harm. */
async function inCache(env, fetch) {
  const target = cachedTemporalCli(env);
  mkdirSync(dirname(target), { recursive: true });
  const folder = mkdtempSync(join(dirname(target), 'unfinished-'));
  try {
    const reason = await fetch(folder);
    if (reason !== undefined) return reason;
    const [name] = readdirSync(folder).filter((each) => each.startsWith('temporal'));
    chmodSync(join(folder, name), 0o755);
    renameSync(join(folder, name), target);
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The SDK's own download. It also starts what it got, so it runs in a process that can be ended. */
async function download(context, folder) {
  const script = join(import.meta.dirname, 'download-temporal.mjs');
  const title = `downloading the Temporal CLI ${TEMPORAL_VERSION}`;
  const { code, output } = await runCommand(process.execPath, [script, folder, TEMPORAL_VERSION], {
    context,
    title,
    timeoutMs: DOWNLOAD_LIMIT_MS,
  });
  if (code === 0) return undefined;
  return `its download failed (${lastLines(output, 1) || 'no answer in time'})`;
}

async function buildWithGo(context, folder) {
  const title = `building the Temporal CLI ${TEMPORAL_VERSION} with Go (about 5 minutes, once)`;
  context.say(`${title} …`);
  const { code, output } = await runCommand('go', ['install', '-trimpath', '-ldflags', '-s -w', MODULE], {
    context,
    title,
    env: { CGO_ENABLED: '0', GOBIN: folder },
  });
  if (code === 0) return undefined;
  return output.includes('ENOENT') ? 'Go is not installed' : `building it with Go failed (${lastLines(output, 1)})`;
}
