import bash from '@ast-grep/lang-bash';
import python from '@ast-grep/lang-python';
import { Lang, parse, registerDynamicLanguage, type SgNode } from '@ast-grep/napi';
import { extname } from 'node:path/posix';
import { readMarkdown } from './markdown.js';
import type { Language, SyntaxRule } from './rule.js';
import type { View } from './view.js';

registerDynamicLanguage({ bash, python });

const GRAMMARS = { bash: 'bash', python: 'python', javascript: Lang.Tsx } as const satisfies Record<Language, string>;

const NAMES: Readonly<Record<Language, readonly string[]>> = {
  bash: ['bash', 'sh', 'shell', 'zsh', 'ksh', 'console', 'terminal', 'shell-session', 'shellscript', 'command', 'fish'],
  python: ['python', 'python3', 'py', 'pyi', 'ipython', 'pycon'],
  javascript: ['javascript', 'js', 'mjs', 'cjs', 'jsx', 'typescript', 'ts', 'mts', 'cts', 'tsx', 'node', 'nodejs'],
};
const LANGUAGES = Object.keys(NAMES) as Language[];

/** The first few matches are enough to report a match that repeats in hundreds of lines. */
const MAX_MATCHES = 5;

export interface SyntaxMatch {
  rule: SyntaxRule;
  view: View;
  line: number;
  match: string;
}

interface Passage {
  language: Language;
  firstLine: number;
  code: string;
}

/** Matches the syntax of scripts, and of code in fenced blocks. */
export function createSyntaxEngine(rules: readonly SyntaxRule[]) {
  return (view: View): SyntaxMatch[] =>
    passagesOf(view).flatMap(({ language, firstLine, code }) => {
      const fitting = rules.filter((rule) => rule.language === language && rule.words.test(code));
      if (fitting.length === 0) return [];
      const root = parse(GRAMMARS[language], code).root();
      return fitting.flatMap((rule) =>
        find(root, rule).map((node) => ({ rule, view, line: firstLine + node.range().start.line, match: node.text() })),
      );
    });
}

function find(root: SgNode, { rule }: SyntaxRule): SgNode[] {
  return root.findAll({ rule }).slice(0, MAX_MATCHES);
}

function passagesOf({ file, text, kind }: View): Passage[] {
  if (kind === 'decoded') return LANGUAGES.map((language) => ({ language, firstLine: 0, code: text }));
  const own = languageOfFile(file, text);
  if (own) return [{ language: own, firstLine: 0, code: text }];
  return readMarkdown(text).fences.flatMap(({ language, firstLine, code }) => {
    const known = findLanguage(language);
    if (known) return [{ language: known, firstLine, code: stripPrompts(code) }];
    // No language is given. An agent would guess it, so the code is parsed as every language.
    return language === '' || language === 'text' || language === 'txt'
      ? LANGUAGES.map((each) => ({ language: each, firstLine, code: stripPrompts(code) }))
      : [];
  });
}

function languageOfFile(file: string, text: string): Language | undefined {
  const shebang = /^#![^\n]*\b(bash|zsh|ksh|dash|sh|python|node|deno|bun)[\d.]*\b/.exec(text)?.[1];
  if (shebang) return findLanguage(shebang) ?? (/node|deno|bun/.test(shebang) ? 'javascript' : 'bash');
  return findLanguage(extname(file).slice(1).toLowerCase());
}

function findLanguage(name: string): Language | undefined {
  return LANGUAGES.find((language) => NAMES[language].includes(name));
}

/** Removes the prompts of lines such as "$ ls" and ">>> import os". Line numbers stay the same. */
function stripPrompts(code: string): string {
  return code.replace(/^([ \t]*)(?:\$|>>>|\.\.\.|#(?=\s*(?:sudo|curl|wget|rm|chmod)\b))[ \t]/gm, '$1');
}
