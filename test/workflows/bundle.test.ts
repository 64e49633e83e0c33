import { isBuiltin } from 'node:module';
import vm from 'node:vm';
import { describe, expect, it } from 'vitest';
import { bundleWorkflows } from '../support/bundle.js';

/** What the SDK itself brings along. */
const PACKAGES = ['@temporalio/common', '@temporalio/workflow', 'long', 'ms', 'nexus-rpc'];

/** The modules in a bundle, by the path webpack gives them. */
function modulesIn(code: string): string[] {
  return [...code.matchAll(/^\/\*{3}\/ "([^"]+)":?$/gm)].map(([, path = '']) => path);
}

function packageOf(path: string): string {
  const [, name = path] = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(path) ?? [];
  return name;
}

/** What workflow code would register under, as a worker reads it. */
function workflowsIn(code: string): string[] {
  const sandbox = { TextEncoder, TextDecoder, __webpack_module_cache__: {} };
  const exported: unknown = vm.runInNewContext(`${code}\n;__TEMPORAL__.importWorkflows()`, sandbox);
  return Object.keys(exported as object);
}

describe('the workflow bundle', async () => {
  const { code } = await bundleWorkflows();
  const modules = modulesIn(code);

  it('holds the runs of items and jobs, sweeps, and the workflows that are retired', () => {
    expect(workflowsIn(code)).toEqual([
      ...['discover-npm', 'enrich-skills', 'retention', 'run-item', 'run-job', 'stats-refresh', 'sweep'],
    ]);
  });

  it('holds no code of ours but the workflows and the little of core they need', () => {
    const ours = modules.filter((path) => path.startsWith('./src/')).sort();

    expect(ours).toContain('./src/workflows/run-item.ts');
    expect(ours.filter((path) => !/^\.\/src\/(workflows|core)\//.test(path))).toEqual([]);
    // No table, and nothing that reads one: a changed table can't break a run that is on its way.
    expect(ours.filter((path) => /pipelines?|machine|step|sound/.test(path))).toEqual([]);
  });

  it('holds no package but the SDK', () => {
    const packages = [...new Set(modules.filter((path) => path.includes('node_modules/')).map(packageOf))].sort();

    expect(packages).toEqual(PACKAGES);
  });

  it('asks for nothing that a sandbox lacks', () => {
    const externals = [...code.matchAll(/\brequire\(["']([^"']+)["']\)/g)].map(([, name = '']) => name);

    expect(externals.filter((name) => isBuiltin(name))).toEqual([]);
    expect(modules.filter((path) => isBuiltin(path.replace(/^external "?|"$/g, '')))).toEqual([]);
  });
});
