// Called as `node download-temporal.mjs <folder> <version>`: has the Temporal SDK download the CLI into the folder.
import { readdirSync } from 'node:fs';
import { TestWorkflowEnvironment } from '@temporalio/testing';

const [folder, version] = process.argv.slice(2);

try {
  const executable = { type: 'cached-download', downloadDir: folder, version };
  const environment = await TestWorkflowEnvironment.createLocal({ server: { executable, ui: false } });
  await environment.teardown();
} catch (error) {
  // The download may have worked and only the start been too slow for the SDK's 5 s: then the file is there.
  if (!readdirSync(folder).some((name) => name.startsWith('temporal'))) {
    console.error(rootCauseOf(error));
    process.exitCode = 1;
  }
}

function rootCauseOf(error) {
  return error.cause instanceof Error ? rootCauseOf(error.cause) : String(error.message).split('\n').join(' ');
}
