import type { ParsedFile } from './parse-file.js';

const DOMAINS = 'src/domains/';

/** The two lists of all domains, through which the engine knows them. */
const REGISTRIES = new Set(['src/domains/tables.ts', 'src/domains/domains.ts']);

/** Imports that lead from the engine into a domain. `placeOf` says where a file counts: itself, or where it is today. */
export function engineToDomain(
  files: readonly ParsedFile[],
  placeOf: (path: string) => string = (path) => path,
): string[] {
  return files.flatMap(({ path, imports }) => {
    if (isDomains(placeOf(path)) || REGISTRIES.has(placeOf(path))) return [];
    return imports.filter((to) => isDomains(placeOf(to))).map((to) => `${path} → ${to}`);
  });
}

function isDomains(path: string): boolean {
  return path.startsWith(DOMAINS) && !REGISTRIES.has(path);
}

/** Groups of files that reach each other by imports, type imports included; each of two files or more (Tarjan). */
export function importCycles(files: readonly ParsedFile[]): string[][] {
  const targets = new Map(files.map(({ path, imports }) => [path, imports] as const));
  const numbers = new Map<string, { order: number; low: number; isOpen: boolean }>();
  const open: string[] = [];
  const cycles: string[][] = [];

  function visit(path: string): { order: number; low: number } {
    const own = { order: numbers.size, low: numbers.size, isOpen: true };
    numbers.set(path, own);
    open.push(path);
    for (const to of targets.get(path) ?? []) {
      if (!targets.has(to)) continue;
      const seen = numbers.get(to);
      if (!seen) own.low = Math.min(own.low, visit(to).low);
      else if (seen.isOpen) own.low = Math.min(own.low, seen.order);
    }
    if (own.low === own.order) close(path);
    return own;
  }

  function close(path: string): void {
    const group = open.splice(open.lastIndexOf(path));
    for (const each of group) (numbers.get(each) ?? { isOpen: true }).isOpen = false;
    if (group.length > 1) cycles.push(group);
  }

  for (const path of targets.keys()) if (!numbers.has(path)) visit(path);
  return cycles.sort((one, other) => other.length - one.length);
}
