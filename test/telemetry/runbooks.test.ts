import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { REASONS } from '../../src/core/diagnosis.js';
import { anchorsOf } from './anchors.js';

const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

/** What stands below a heading of the third level, up to the next heading. */
function sectionOf(reason: string): string {
  const [, rest = ''] = operations.split(`\n### \`${reason}\`\n`);
  return rest.split(/\n##/)[0] ?? '';
}

describe('the runbooks', () => {
  it.each(REASONS)('tell of %s what it means, what happens by itself, and what a person does', (reason) => {
    const section = sectionOf(reason);
    for (const part of ['Means', 'By itself', 'You']) {
      expect(section).toMatch(new RegExp(`^- \\*\\*${part}:\\*\\* \\S.{5,}`, 'm'));
    }
  });

  it('tell of no reason that there is not', () => {
    const told = [...operations.matchAll(/^### `(\w+)`$/gm)].map(([, reason]) => reason);
    expect(told.sort()).toEqual([...REASONS].sort());
  });

  it('refer to sections that are there', () => {
    const anchors = anchorsOf(operations);
    const linked = [...operations.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor]) => anchor);
    expect(linked.filter((anchor) => anchor && !anchors.includes(anchor))).toEqual([]);
  });
});
