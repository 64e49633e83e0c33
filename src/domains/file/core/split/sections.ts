import { cutText } from '../text/well-formed.js';

export interface Section {
  /** The headings above it, the highest first, with ` > ` between them. '' if there is none. */
  title: string;
  text: string;
}

/** Shown above a result. */
const MAX_TITLE = 300;

/** A section begins with its heading. A heading without text of its own stands at the beginning of the next section, so that no
 *  section is only a heading. Lines in fences are no headings. */
export function sectionsOf(markdown: string): Section[] {
  const sections: Section[] = [];
  const path: { level: number; name: string }[] = [];
  let lines: string[] = [];
  let [fence, hasBody] = ['', false];

  function close(): void {
    if (lines.some((line) => line.trim() !== '')) sections.push({ title: titleOf(path), text: lines.join('\n') });
    [lines, hasBody] = [[], false];
  }

  for (const line of markdown.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && fence === '') fence = mark;
    else if (mark?.startsWith(fence) && fence !== '') fence = '';
    const heading = fence === '' && !mark ? headingOf(line) : undefined;
    if (heading) {
      if (hasBody) close();
      while ((path.at(-1)?.level ?? 0) >= heading.level) path.pop();
      path.push(heading);
    } else if (line.trim() !== '') hasBody = true;
    lines.push(line);
  }
  close();
  return sections;
}

function headingOf(line: string): { level: number; name: string } | undefined {
  const [, marks, name] = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/.exec(line) ?? [];
  if (!marks || !name) return undefined;
  return { level: marks.length, name: name.replace(/[ \t]#+[ \t]*$/, '').trim() };
}

function titleOf(path: readonly { name: string }[]): string {
  return cutText(path.map(({ name }) => cutText(name, MAX_TITLE)).join(' > '), MAX_TITLE);
}
