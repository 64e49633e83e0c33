import { join } from 'node:path';
import { buildStep } from './build.mjs';
import { bundleStep } from './build-bundle.mjs';
import { clientStep } from './generate-client.mjs';
import { temporalStep } from './get-temporal.mjs';
import { postgresLinksStep } from './link-postgres.mjs';
import { installStep } from './install-dependencies.mjs';
import { readEnvironment } from './read-environment.mjs';
import { SetupError } from './run-command.mjs';
import { withSetupLock } from './setup-lock.mjs';

/** In order; each `isNeeded` looks at what the ones before it have made. */
const STEPS = [installStep, postgresLinksStep, clientStep, temporalStep, buildStep, bundleStep];

/** Resolves to the exit code. */
export async function setUp(root = join(import.meta.dirname, '..'), steps = STEPS) {
  const context = { root, env: readEnvironment(root), say };
  try {
    if (!steps.some((step) => step.isNeeded(context))) return 0;
    await withSetupLock(context, () => runSteps(steps, context));
    return 0;
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(`cannot set up: ${error.message}`);
    return 1;
  }
}

async function runSteps(steps, context) {
  for (const step of steps) {
    if (!step.isNeeded(context)) continue;
    const began = Date.now();
    say(`${step.title} …`);
    await step.run(context);
    say(`${step.title}: done in ${((Date.now() - began) / 1000).toFixed(1)} s`);
  }
}

function say(line) {
  console.log(`set-up: ${line}`);
}
