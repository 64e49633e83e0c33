// `npm run house -- [--against <commit>]`: sizes, imports and comments of src and test, from the TypeScript parser; with
// --against beside those of a commit. Ends with one line of JSON.
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { commandOptions } from '../test/audit/command-options.js';
import { textTable } from '../test/audit/text-table.js';
import { countRewritten, LONGER_WORDS, STAND_IN_SHARE } from './house/comments.js';
import { type FolderSize, type House, measureTree, type Spread } from './house/measure-tree.js';
import { readCommit, readMoves, readWorkingTree } from './house/read-tree.js';

const root = resolve(import.meta.dirname, '..');

function main(): void {
  const { against, list } = commandOptions(
    'house',
    'Measures src and test: sizes, imports, comments. --against: beside a commit. --list: every place that is counted.',
    { against: '', list: false },
  );
  const present = measureTree(readWorkingTree(root));
  sayTable('present tree', present);
  if (list) sayPlaces(present);
  if (against === '') {
    say(JSON.stringify({ present: figuresOf(present) }));
    return;
  }
  const commit = commitOf(against);
  const old = measureTree(readCommit(root, commit), readMoves(root, commit));
  sayTable(against, old);
  const rewritten = countRewritten(old.comments, present.comments);
  const of = old.comments.length;
  say(`\n${rewritten} of the ${of} comments of ${against} are no longer there in the same words`);
  sayBeside(figuresOf(old), figuresOf(present), against);
  say(JSON.stringify({ present: figuresOf(present), against: { commit, ...figuresOf(old) }, rewritten }));
}

function commitOf(name: string): string {
  try {
    const asked = ['rev-parse', '--verify', '--quiet', `${name}^{commit}`];
    return execFileSync('git', asked, { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    process.stderr.write(`house: this clone does not know the commit '${name}'\n`);
    process.exit(2);
  }
}

function sayTable(title: string, house: House): void {
  say(`\n${title}`);
  const rows = [...house.folders, { ...house.src, folder: 'all of src' }, { ...house.test, folder: 'all of test' }];
  const head = ['folder', 'files', 'lines', 'file med/p95/max', 'functions', 'fn med/p95/max', 'comments'];
  for (const line of textTable(head, rows.map(cellsOf))) say(line);
}

function cellsOf({ folder, files, lines, fileLines, functions, functionLines, comments }: FolderSize) {
  return [folder, files, lines, spreadText(fileLines), functions, spreadText(functionLines), comments];
}

function spreadText({ median, p95, max }: Spread): string {
  return `${median} / ${p95} / ${max}`;
}

type Figures = Record<string, number | string>;

/** The figures of a tree that are held against those of another. */
function figuresOf(house: House): Figures {
  const { src, test, cycles, engineToDomain } = house;
  return {
    files: src.files,
    lines: src.lines,
    fileMedian: src.fileLines.median,
    fileP95: src.fileLines.p95,
    fileMax: src.fileLines.max,
    functions: src.functions,
    functionMedian: src.functionLines.median,
    functionP95: src.functionLines.p95,
    functionMax: src.functionLines.max,
    testFiles: test.files,
    testLines: test.lines,
    engineToDomain: engineToDomain === 'unknown' ? engineToDomain : engineToDomain.length,
    filesInCycles: cycles.flat().length,
    cycles: cycles.length,
    largestCycle: cycles[0]?.length ?? 0,
    comments: house.comments.length,
    longerComments: house.longerComments,
    secondReading: house.secondReading.length,
  };
}

const MEANING: Record<string, string> = {
  functions: 'functions with a body in braces',
  engineToDomain: 'imports of the engine into a domain',
  filesInCycles: 'files that import each other in a circle, types included',
  longerComments: `comments of ${LONGER_WORDS} words or more`,
  secondReading: `of them ${STAND_IN_SHARE * 100} % or more pronouns and stand-ins`,
};

function sayBeside(old: Figures, present: Figures, against: string): void {
  const rows = Object.keys(present).map((name) => [
    MEANING[name] ?? name.replace(/([A-Z])/g, ' $1').toLowerCase(),
    old[name] ?? '',
    present[name] ?? '',
  ]);
  say('');
  for (const line of textTable(['src', against, 'present'], rows)) say(line);
}

function sayPlaces({ engineToDomain, cycles, secondReading }: House): void {
  const imports = engineToDomain === 'unknown' ? [] : engineToDomain;
  const lists = { 'engine into a domain': imports, circle: cycles.map(String), 'second reading': secondReading };
  for (const [name, places] of Object.entries(lists)) for (const place of places) say(`${name}: ${place}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
