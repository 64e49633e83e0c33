import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { projectRoot } from '../../src/config.js';
import { applyChange, type Change } from './changes.js';

export const NEXT_VERSION = '0.0.0-next';

/** A build of its own from changed sources: compiled and bundled as set-up does, under another version. What did not change
 *  is taken as it was compiled. Returns its root. */
export async function buildNext(folder: string, changes: readonly Change[]): Promise<string> {
  mkdirSync(folder);
  cpSync(join(projectRoot, 'dist'), join(folder, 'dist'), { recursive: true });
  for (const name of ['node_modules', 'scripts']) symlinkSync(join(projectRoot, name), join(folder, name));
  const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version: NEXT_VERSION }));
  for (const file of new Set(changes.map((change) => change.file))) {
    const own = changes.filter((change) => change.file === file);
    const source = own.reduce(applyChange, readFileSync(join(projectRoot, 'src', file), 'utf8'));
    writeFileSync(join(folder, 'dist', file.replace(/\.ts$/, '.js')), compile(source));
  }
  await run(join(projectRoot, 'scripts', 'build-bundle.mjs'), folder);
  return folder;
}

export function bundleIn(root: string): { codePath: string } {
  return { codePath: join(root, 'dist', 'workflow-bundle.js') };
}

function compile(source: string): string {
  const { config } = ts.readConfigFile(join(projectRoot, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, projectRoot);
  // This module's own kind is read from package.json elsewhere; here there is no file to look beside.
  const compilerOptions = { ...options, noEmit: false, module: ts.ModuleKind.ESNext };
  return ts.transpileModule(source, { compilerOptions }).outputText;
}

async function run(script: string, cwd: string): Promise<void> {
  const child = spawn(process.execPath, [script], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${script} ended with ${String(code)}`);
}
