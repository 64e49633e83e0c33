import { parse } from 'yaml';
import { linesOf, type TextFile } from '../core/plain-text.js';
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

const FRONT = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

export function ruleCaseOf(given: Case): RuleCase {
  const { files } = given.material;
  const main = files.find(({ path }) => path === 'SKILL.md') ?? { path: 'SKILL.md', text: '', isExecutable: false };
  const found = FRONT.exec(main.text);
  const body = main.text.slice(found?.[0].length ?? 0);
  return {
    ...given,
    main,
    front: found ? frontMatterOf(found[1] ?? '') : undefined,
    body,
    prose: withoutFences(body),
    documents: files.filter(({ path }) => /\.(?:md|mdx|txt|rst)$/i.test(path)),
  };
}

/** Data only: no tags, no code, no aliases to swell it. */
function frontMatterOf(text: string): FrontMatter | undefined {
  try {
    const read: unknown = parse(text, { schema: 'core', maxAliasCount: 0, logLevel: 'error' });
    if (typeof read !== 'object' || read === null) return undefined;
    const { name, description } = read as Record<string, unknown>;
    return { name: wordsOf(name), description: wordsOf(description) };
  } catch {
    // Not YAML: as if it were not there.
    return undefined;
  }
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
