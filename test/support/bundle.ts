import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';

const src = resolve(import.meta.dirname, '../../src');

/** Workflow code imports core and nothing else of ours. */
const SOURCES = ['workflows', 'core'] as const;

const ignore = (): void => undefined;
const quiet = { log: ignore, trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

export function bundleWorkflows(workflowsPath = join(src, 'workflows/index.ts')): Promise<WorkflowBundle> {
  return bundleWorkflowCode({
    workflowsPath,
    logger: quiet,
    // Our imports name what the compiler writes; webpack must find what it reads.
    webpackConfigHook: (config) => ({
      ...config,
      resolve: { ...config.resolve, extensionAlias: { '.js': ['.ts', '.js'] } },
    }),
  });
}

/** Workflow code that can't replay the runs of ours, in a file. */
export async function writeUnfitBundle(codePath: string): Promise<void> {
  writeFileSync(codePath, (await bundleWorkflows(join(import.meta.dirname, 'unfit-workflows.ts'))).code);
}

/** Bundling takes seconds, so all test files of all runs share one file as long as the sources are the same. */
export async function workflowBundle(): Promise<{ codePath: string }> {
  const codePath = join(tmpdir(), `unstuck-workflows-${sourceHash()}.js`);
  if (existsSync(codePath)) return { codePath };
  const { code } = await bundleWorkflows();
  // Renamed into place: another file that starts meanwhile sees all of it or nothing.
  const unfinished = `${codePath}.${String(process.pid)}`;
  writeFileSync(unfinished, code);
  renameSync(unfinished, codePath);
  return { codePath };
}

function sourceHash(): string {
  const hash = createHash('sha256').update(readFileSync(resolve(src, '../package-lock.json')));
  for (const folder of SOURCES) {
    for (const name of readdirSync(join(src, folder)).sort())
      hash.update(name).update(readFileSync(join(src, folder, name)));
  }
  return hash.digest('hex').slice(0, 16);
}
