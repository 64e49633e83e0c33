import { isLonger, needsSecondReading } from './comments.js';
import { engineToDomain, importCycles } from './imports.js';
import { type ParsedFile, parseFile } from './parse-file.js';
import type { Tree } from './read-tree.js';

export interface Spread {
  median: number;
  p95: number;
  max: number;
}

export interface FolderSize {
  folder: string;
  files: number;
  lines: number;
  fileLines: Spread;
  functions: number;
  functionLines: Spread;
  comments: number;
}

export interface House {
  /** By layer and room, by domain, and for tests by engine and domain. */
  folders: FolderSize[];
  src: FolderSize;
  test: FolderSize;
  /** "unknown" for a tree that keeps its domains among the engine's files, unless their present places are known. */
  engineToDomain: string[] | 'unknown';
  /** Groups of files of src that import each other, type imports included. */
  cycles: string[][];
  /** Of src, as the words that are compared with another tree. */
  comments: string[];
  longerComments: number;
  secondReading: string[];
}

/** `moves`: where files of this tree are in a tree that has its domains apart, so that they can be told from the engine's. */
export function measureTree(tree: Tree, moves?: ReadonlyMap<string, string>): House {
  const all = [...tree].map(([path, text]) => parseFile(path, text));
  const src = all.filter(({ path }) => path.startsWith('src/'));
  const comments = src.flatMap((file) => file.comments);
  return {
    folders: sizesByFolder(all),
    src: sizeOf('src', src),
    test: sizeOf(
      'test',
      all.filter(({ path }) => path.startsWith('test/')),
    ),
    engineToDomain: engineToDomainIn(src, moves),
    cycles: importCycles(src),
    comments,
    longerComments: comments.filter(isLonger).length,
    secondReading: comments.filter(needsSecondReading),
  };
}

function engineToDomainIn(src: readonly ParsedFile[], moves?: ReadonlyMap<string, string>): string[] | 'unknown' {
  if (src.some(({ path }) => path.startsWith('src/domains/'))) return engineToDomain(src);
  return moves ? engineToDomain(src, (path) => moves.get(path) ?? path) : 'unknown';
}

function sizesByFolder(files: readonly ParsedFile[]): FolderSize[] {
  const groups = new Map<string, ParsedFile[]>();
  for (const file of files) {
    const folder = folderOf(file.path);
    groups.set(folder, [...(groups.get(folder) ?? []), file]);
  }
  return [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, own]) => sizeOf(name, own));
}

/** `src/<layer>/<room>`, `src/domains/<name>`; of test `test/domains/<name>`, and all other tests together. */
export function folderOf(path: string): string {
  const parts = path.split('/').slice(0, -1);
  const isDomain = parts[1] === 'domains' && parts.length > 2;
  return parts.slice(0, isDomain || parts[0] === 'src' ? 3 : 1).join('/');
}

function sizeOf(folder: string, files: readonly ParsedFile[]): FolderSize {
  const functionLines = files.flatMap((file) => file.functionLines);
  const lines = files.map((file) => file.lines);
  return {
    folder,
    files: files.length,
    lines: lines.reduce((sum, each) => sum + each, 0),
    fileLines: spreadOf(lines),
    functions: functionLines.length,
    functionLines: spreadOf(functionLines),
    comments: files.reduce((sum, file) => sum + file.comments.length, 0),
  };
}

/** Zero where there is nothing to measure: a folder of types has no functions. */
function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((one, other) => one - other);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  return { median: at(0.5), p95: at(0.95), max: at(1) };
}
