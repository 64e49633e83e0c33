import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from './run-command.mjs';

/** Installs when what is there is not what the lock says; a node_modules that agrees is left alone, whoever made it. */
export const installStep = {
  title: 'installing dependencies (a minute or two)',
  isNeeded: ({ root }) => !agrees(root),
  async run(context) {
    const [command, ...args] = npmCommand(context.env);
    // With NODE_ENV=production npm would leave out what builds and tests us.
    await mustRun(command, [...args, 'ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund'], {
      context,
      title: this.title,
      remedy: '`npm ci` failed (its output is above). Check that the package registry can be reached, and try again.',
    });
  },
};

function agrees(root) {
  const installed = packagesIn(join(root, 'node_modules/.package-lock.json'));
  const wanted = packagesIn(join(root, 'package-lock.json'));
  if (!installed || !wanted) return false;
  return Object.entries(wanted).every(([path, { version, optional, devOptional, link }]) => {
    if (path === '' || link) return true;
    // Optional ones of other platforms are not installed.
    if (!installed[path]) return Boolean(optional || devOptional);
    return installed[path].version === version;
  });
}

/** npm writes the same shape for the lock and for what it has installed. */
function packagesIn(file) {
  if (!existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}

/** The npm that runs us, since another on the PATH may be of another version. */
function npmCommand({ npm_execpath: path }) {
  if (path && /npm-cli\.c?js$/.test(path)) return [process.execPath, path];
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm'];
}
