import { bodyOf, readFrontMatter } from '../../core/text/front-matter.js';
import { linesOf, type TextFile } from '../../core/text/plain-text.js';
import type { Case } from './judge-frame.js';

/** What the rules look at: the case, and SKILL.md taken apart. */
export interface RuleCase extends Case {
  /** Empty, with no text, where there is no SKILL.md. */
  main: TextFile;
  front: FrontMatter | undefined;
  /** SKILL.md without its front matter. */
  body: string;
  /** The body without its fenced code: what is said about the skill. */
  prose: string;
  /** All that is written for people: Markdown and plain text. */
  documents: readonly TextFile[];
}

interface FrontMatter {
  name: string;
  description: string;
}

export function ruleCaseOf(given: Case): RuleCase {
  const { files } = given.material;
  const main = files.find(({ path }) => path === 'SKILL.md') ?? { path: 'SKILL.md', text: '', isExecutable: false };
  const body = bodyOf(main.text);
  return {
    ...given,
    main,
    front: frontMatterOf(main.text),
    body,
    prose: withoutFences(body),
    documents: files.filter(({ path }) => /\.(?:md|mdx|txt|rst)$/i.test(path)),
  };
}

/** Not YAML: as if it were not there. */
function frontMatterOf(text: string): FrontMatter | undefined {
  const read = readFrontMatter(text);
  if (read.is !== 'read') return undefined;
  const { name, description } = read.data;
  return { name: wordsOf(name), description: wordsOf(description) };
}

function wordsOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

function withoutFences(markdown: string): string {
  let isFenced = false;
  const kept = linesOf(markdown).filter((line) => {
    const isFence = /^\s*(?:```|~~~)/.test(line);
    if (isFence) isFenced = !isFenced;
    return !isFence && !isFenced;
  });
  return kept.join('\n');
}
