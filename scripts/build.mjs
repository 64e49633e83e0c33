import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from './run-command.mjs';
import { hashOf, hasStamp, setStamp } from './stamps.mjs';

export const buildStep = {
  title: 'compiling',
  isNeeded: (context) => !existsSync(join(context.root, 'dist')) || !hasStamp(context, 'build', sourceOf(context)),
  async run(context) {
    const source = sourceOf(context);
    await mustRun(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
      context,
      title: this.title,
      remedy: 'the compiler found errors (above).',
    });
    setStamp(context, 'build', source);
  },
};

function sourceOf(context) {
  const settings = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
  return hashOf(context, ['src', ...settings], (name) => /\.(ts|json|lock)$/.test(name));
}
