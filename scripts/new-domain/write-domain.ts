import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { filesSaying } from './engine-words.js';
import { assertFree, type Names } from './names.js';

const TEMPLATE = join(import.meta.dirname, 'template');

/** Writes a whole domain into the repository at `root`: its files, its line in each registry, its variables, its diagram. Returns
 *  the paths of all files that were written or changed. */
export async function writeDomain(root: string, names: Names, now: Date): Promise<string[]> {
  assertFree(root, names);
  const words = wordsOf(names).filter((word) => filesSaying(root, word).length === 0);
  const written: string[] = [];
  for (const [template, path] of Object.entries(placesOf(root, names, now))) {
    const text = fill(readFileSync(join(TEMPLATE, template), 'utf8'), names, words);
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), await formatted(root, path, text));
    written.push(path);
  }
  for (const [path, edit] of Object.entries(registryEdits(names))) {
    const file = join(root, path);
    writeFileSync(file, edit(readFileSync(file, 'utf8')));
    written.push(path);
  }
  appendFileSync(join(root, '.env.example'), fill(readFileSync(join(TEMPLATE, 'env.txt'), 'utf8'), names, words));
  drawDiagrams(root);
  return [...written, '.env.example', 'docs/pipelines.md'];
}

/** The home of each file of the template. */
function placesOf(root: string, { name, names }: Names, now: Date): Record<string, string> {
  const [src, test] = [`src/domains/${name}`, `test/domains/${name}`];
  return {
    'src/table.ts.txt': `${src}/table.ts`,
    'src/domain.ts.txt': `${src}/domain.ts`,
    'src/api/routes.ts.txt': `${src}/api/${names}.ts`,
    'src/db/rows.ts.txt': `${src}/db/${names}.ts`,
    'src/activities/stages.ts.txt': `${src}/activities/stages.ts`,
    'src/README.md.txt': `${src}/README.md`,
    'schema.prisma.txt': `prisma/schema/${name}.prisma`,
    'migration.sql.txt': `prisma/migrations/${stampAfterLast(root, now)}_${name.replaceAll('-', '_')}/migration.sql`,
    'test/table.test.ts.txt': `${test}/table.test.ts`,
    'test/api/routes.test.ts.txt': `${test}/api/${names}.test.ts`,
    'test/activities/stages.test.ts.txt': `${test}/activities/stages.test.ts`,
    'test/e2e/walk.test.ts.txt': `${test}/e2e/walk.test.ts`,
    'docs.md.txt': `docs/${names}.md`,
  };
}

/** Migrations are applied in the order of their names, so a new one must come behind all others. */
function stampAfterLast(root: string, now: Date): string {
  const stamp = now.toISOString().replace(/\D/g, '').slice(0, 14);
  const last = readdirSync(join(root, 'prisma/migrations'))
    .map((folder) => /^\d{14}/.exec(folder)?.[0] ?? '')
    .sort()
    .at(-1);
  return last !== undefined && last >= stamp ? String(Number(last) + 1) : stamp;
}

/** The manifest's `words`. Of a name with hyphens also the form that code uses. */
function wordsOf({ name, names, camel }: Names): string[] {
  return name === camel ? [name, names] : [name, names, camel];
}

function fill(template: string, names: Names, words: readonly string[]): string {
  const key = names.name === names.camel ? names.name : `'${names.name}'`;
  const forms: Record<string, string> = { ...names, key, words: `[${words.map((word) => `'${word}'`).join(', ')}]` };
  return template.replace(/\{\{(\w+)\}\}/g, (_, form: string) => {
    const value = forms[form];
    if (value === undefined) throw new Error(`the template asks for an unknown form of the name: ${form}`);
    return value;
  });
}

/** A longer name makes longer lines, so the files are wrapped after the name is filled in. */
async function formatted(root: string, path: string, text: string): Promise<string> {
  if (!/\.(ts|md)$/.test(path)) return text;
  return format(text, { ...(await resolveConfig(join(root, path))), filepath: path });
}

function registryEdits({ name, camel }: Names): Record<string, (text: string) => string> {
  const entry = name === camel ? camel : `'${name}': ${camel}`;
  return {
    'src/domains/tables.ts': (text) =>
      register(text, `import { ${camel} } from './${name}/table.js';`, `${entry},`, '};'),
    'src/domains/domains.ts': (text) =>
      register(text, `import { ${camel}Domain } from './${name}/domain.js';`, `${camel}Domain,`, '];'),
  };
}

/** Adds the import behind the last one, and the entry before the end of the list. */
function register(text: string, importLine: string, entry: string, end: string): string {
  const lines = text.split('\n');
  const lastImport = lines.findLastIndex((line) => line.startsWith('import '));
  const listEnd = lines.lastIndexOf(end);
  if (lastImport < 0 || listEnd < 0) throw new Error(`the registry has no line '${end}'`);
  lines.splice(listEnd, 0, `  ${entry}`);
  lines.splice(lastImport + 1, 0, importLine);
  return lines.join('\n');
}

function drawDiagrams(root: string): void {
  const tsx = join(root, 'node_modules/tsx/dist/cli.mjs');
  const drawn = spawnSync(process.execPath, [tsx, 'scripts/write-diagrams.ts'], { cwd: root, encoding: 'utf8' });
  if (drawn.status !== 0) throw new Error(`the diagrams could not be drawn: ${drawn.stderr}`);
}
