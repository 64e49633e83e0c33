import { linesOf } from './plain-text.js';

/** The lines of each section, without empty lines. Lines before the first heading are under ''. */
export type Sections = ReadonlyMap<string, readonly string[]>;

/** Keys are titles in lower case with single spaces; a repeated title gets a number. Only `#` makes a heading, and not
 *  inside a fence, where `#` begins a comment. */
export function sectionsOf(markdown: string): Sections {
  const sections = new Map<string, string[]>([['', []]]);
  const seen = new Map<string, number>();
  let title = '';
  let fence: string | undefined;
  for (const line of linesOf(markdown)) {
    fence = fenceAfter(line, fence);
    const heading = fence === undefined ? /^ {0,3}#{1,6}\s+([^\s#].*)$/.exec(line)?.[1] : undefined;
    if (heading !== undefined) {
      title = titleOf(heading, seen);
      sections.set(title, []);
    } else if (line.trim() !== '') {
      sections.get(title)?.push(line.trim());
    }
  }
  return sections;
}

/** The marks that would close the fence that is open after this line. */
function fenceAfter(line: string, open: string | undefined): string | undefined {
  const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
  if (marks === undefined) return open;
  if (open === undefined) return marks;
  return marks.startsWith(open) ? undefined : open;
}

/** No title is longer. */
const MAX_TITLE_CHARACTERS = 200;

function titleOf(heading: string, seen: Map<string, number>): string {
  const start = heading.slice(0, MAX_TITLE_CHARACTERS).replace(/#+\s*$/, '');
  const title = start.trim().replace(/\s+/g, ' ').toLowerCase();
  const count = (seen.get(title) ?? 0) + 1;
  seen.set(title, count);
  return count === 1 ? title : `${title} (${count})`;
}

/** From 0 (no line in common) to 1 (the same lines, in any order). */
export function likenessOf(one: readonly string[], other: readonly string[]): number {
  if (one.length + other.length === 0) return 1;
  const left = new Map<string, number>();
  for (const line of one) left.set(line, (left.get(line) ?? 0) + 1);
  let shared = 0;
  for (const line of other) {
    const count = left.get(line) ?? 0;
    if (count === 0) continue;
    left.set(line, count - 1);
    shared += 1;
  }
  return (2 * shared) / (one.length + other.length);
}
