import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { mustRun } from './run-command.mjs';
import { hashOf, hasStamp, setStamp } from './stamps.mjs';

const BUNDLE = 'dist/workflow-bundle.js';

/** A worker starts in 0.4 s with a prebuilt bundle, in 4 s without. */
export const bundleStep = {
  title: 'bundling the workflows',
  isNeeded: (context) => !existsSync(join(context.root, BUNDLE)) || !hasStamp(context, 'bundle', sourceOf(context)),
  async run(context) {
    const source = sourceOf(context);
    await mustRun(process.execPath, [import.meta.filename], {
      context,
      title: this.title,
      remedy: 'the workflows could not be bundled (the reason is above).',
    });
    setStamp(context, 'bundle', source);
  },
};

/** Workflow code imports core and nothing else of ours. */
function sourceOf(context) {
  return hashOf(context, ['dist/workflows', 'dist/core', 'package-lock.json'], (name) => name.endsWith('.js'));
}

async function buildBundle(root) {
  const { bundleWorkflowCode } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({ workflowsPath: join(root, 'dist/workflows/index.js'), logger: quiet() });
  // Renamed into place: a worker that starts meanwhile reads the old one or the new one, never a half.
  const unfinished = join(root, `${BUNDLE}.${process.pid}`);
  writeFileSync(unfinished, code);
  renameSync(unfinished, join(root, BUNDLE));
}

function quiet() {
  const ignore = () => undefined;
  const complain = (message, facts) => console.error(message, facts ?? '');
  return { log: ignore, trace: ignore, debug: ignore, info: ignore, warn: complain, error: complain };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await buildBundle(process.cwd());
