// `npm run check`: what must hold before every commit. The looks at the source all run, so that one round shows everything
// they find; the build and the tests wait for a source that passes them.
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

const root = resolve(import.meta.dirname, '..');

const looks = [
  { name: 'format', run: ['prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'] },
  { name: 'lint', run: ['eslint/bin/eslint.js', '--max-warnings=0', '.'] },
  { name: 'types', run: ['typescript/bin/tsc', '--noEmit'] },
  { name: 'dead code', run: ['knip/bin/knip.js', '--no-progress'] },
];

// Mode `check` adds the tests of the maintenance activities, which belong to the measure (vitest.config.ts).
const proofs = [
  { name: 'build', run: ['typescript/bin/tsc', '-p', 'tsconfig.build.json'] },
  { name: 'bundle', run: ['../scripts/build-bundle.mjs'] },
  { name: 'unit tests', run: ['vitest/vitest.mjs', 'run', '--mode=check', '--coverage', '--reporter=dot'] },
];

async function main() {
  const looked = await Promise.all(looks.map(passes));
  const failed = looks.filter((_, index) => !looked[index]);
  for (const proof of proofs) {
    if (failed.length === 0 && !(await passes(proof))) failed.push(proof);
  }
  if (failed.length > 0) console.log(`\nfailed: ${failed.map(({ name }) => name).join(', ')}`);
  return failed.length === 0 ? 0 : 1;
}

/** Prints one line, and what the step said only if it failed. */
async function passes({ name, run: [script, ...args] }) {
  const startedAt = Date.now();
  const child = spawn(process.execPath, [join(root, 'node_modules', script), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'test' },
  });
  const ended = new Promise((done, broken) => child.once('close', done).once('error', broken));
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(10)} ${seconds.padStart(6)} s`);
  if (code !== 0) console.log(`${output}${errors}`.trimEnd());
  return code === 0;
}

process.exitCode = await main();
