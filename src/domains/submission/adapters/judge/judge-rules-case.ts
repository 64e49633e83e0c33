import { bodyOf, readFrontMatter } from '../../core/text/front-matter.js';
import type { Criterion } from '../../core/judgement/judgement.js';
import { linesOf, type Place, type TextFile } from '../../core/text/plain-text.js';
import type { Case } from './judge-frame.js';

/** One rule. */
export interface RuleCheck {
  name: string;
  criterion: Criterion;
  /** Marks, of 10, that a fault takes off the criterion. */
  costs: number;
  /** One sentence for the owner. */
  says: string;
  /** Whether the skill breaks the rule, and where, if the place can be shown. */
  fault(given: RuleCase): Place | boolean;
}

/** The case that the rules look at, with SKILL.md taken apart. */
export interface RuleCase extends Case {
  /** SKILL.md, with an empty text where the skill has none. */
  main: TextFile;
  front: FrontMatter | undefined;
  /** SKILL.md without its front matter. */
  body: string;
  /** The body without its fenced code: the words about the skill. */
  prose: string;
  /** The files written for people: Markdown and plain text. */
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

/** Undefined where the front matter is missing or is not YAML. */
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
