import { describe, expect, it } from 'vitest';
import { countRewritten } from '../../scripts/house/comments.js';
import { folderOf, measureTree } from '../../scripts/house/measure-tree.js';

/** A tree of a few files, each given by its lines. */
function measure(files: Record<string, readonly string[]>, moves?: Record<string, string>) {
  const tree = new Map(Object.entries(files).map(([path, lines]) => [path, `${lines.join('\n')}\n`]));
  return measureTree(tree, moves && new Map(Object.entries(moves)));
}

describe('the measures of a tree', () => {
  it('counts files, lines and functions with a body, and leaves callbacks to the function around them', () => {
    const { src, test } = measure({
      'src/core/one.ts': ['export function one(list: number[]) {', '  list.forEach((n) => {', '    n;', '  });', '}'],
      'src/core/two.ts': ['export const two = (n: number) => n;'],
      'test/core/one.test.ts': ['export {};'],
    });

    expect(src).toMatchObject({ files: 2, lines: 6, functions: 1, functionLines: { max: 5 } });
    expect(test).toMatchObject({ files: 1, lines: 1 });
  });

  it('counts line comments in a row as one comment, and no text that only looks like a comment', () => {
    const { comments } = measure({
      'src/a.ts': [
        '// first line',
        '// second line',
        '',
        "export const url = 'http://x/*no*/'; // behind",
        '/** doc */',
      ],
    });

    expect(comments).toEqual(['first line second line', 'behind', 'doc']);
  });

  it('names longer comments of which a fifth of the words are stand-ins', () => {
    const { longerComments, secondReading } = measure({
      'src/a.ts': [
        '/** Of one that goes on, what comes next is told where somebody has looked why it is where it is. */',
        '/** A rescue whose run was lost already has a receipt, so that the second start writes no other receipt. */',
        '/** It is what it is. */',
      ],
    });

    expect(longerComments).toBe(2);
    expect(secondReading).toEqual([expect.stringContaining('Of one that goes on')]);
  });

  it('finds files that import each other in a circle by type imports', () => {
    const { cycles } = measure({
      'src/a.ts': ["import type { B } from './b.js';", 'export type A = B;'],
      'src/b.ts': ["import { c } from './c.js';", 'export type B = typeof c;'],
      'src/c.ts': ["import type { A } from './a.js';", 'export const c = 1 as unknown as A;'],
      'src/d.ts': ["import { c } from './c.js';", 'export const d = c;'],
    });

    expect(cycles.map((each) => each.sort())).toEqual([['src/a.ts', 'src/b.ts', 'src/c.ts']]);
  });

  it('counts imports of the engine into a domain, but not those of and from the registries', () => {
    const { engineToDomain } = measure({
      'src/api/app.ts': ["import '../domains/x/api/routes.js';", "import '../domains/tables.js';"],
      'src/domains/tables.ts': ["import './x/table.js';"],
      'src/domains/x/table.ts': ["import '../../core/pipeline.js';"],
      'src/domains/x/api/routes.ts': ["import '../table.js';"],
    });

    expect(engineToDomain).toEqual(['src/api/app.ts → src/domains/x/api/routes.ts']);
  });

  it('tells domain from engine in an older tree by the places of its files today, or not at all', () => {
    const old = { 'src/api/app.ts': ["import './x-routes.js';"], 'src/api/x-routes.ts': ['export {};'] };

    expect(measure(old).engineToDomain).toBe('unknown');
    expect(measure(old, { 'src/api/x-routes.ts': 'src/domains/x/api/routes.ts' }).engineToDomain).toHaveLength(1);
  });

  it('puts a file into its room or its domain', () => {
    expect(folderOf('src/db/spine/claim/claim.ts')).toBe('src/db/spine');
    expect(folderOf('src/domains/canary/db/canaries.ts')).toBe('src/domains/canary');
    expect(folderOf('test/domains/canary/api/x.test.ts')).toBe('test/domains/canary');
    expect(folderOf('test/db/spine/claim.test.ts')).toBe('test');
  });
});

describe('the comments of an older tree', () => {
  it('are rewritten when no comment of the same words is left for them', () => {
    expect(countRewritten(['Locks the row.', 'Locks the row.', 'Ends.'], ['ends', 'locks  the row'])).toBe(1);
  });
});
