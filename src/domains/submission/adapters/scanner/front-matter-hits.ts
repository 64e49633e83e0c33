import { type FrontMatterRead, readFrontMatter } from '../../core/text/front-matter.js';
import type { RuleHead } from './rule.js';
import { STRUCTURE } from './rules/structure.js';

interface Fault {
  rule: RuleHead;
  match: string;
  line: number | null;
}

const RULES: Readonly<Record<Exclude<FrontMatterRead['is'], 'read'>, RuleHead>> = {
  none: STRUCTURE.noFrontMatter,
  unclosed: STRUCTURE.noFrontMatter,
  code: STRUCTURE.codeFrontMatter,
  bomb: STRUCTURE.bomb,
  invalid: STRUCTURE.badFrontMatter,
};

export function frontMatterHits(text: string): Fault[] {
  const read = readFrontMatter(text);
  if (read.is !== 'read') {
    return [{ rule: RULES[read.is], match: read.detail, line: read.is === 'invalid' ? read.line : null }];
  }
  return [...nameFaults(read.data['name']), ...descriptionFaults(read.data['description'])];
}

function nameFaults(name: unknown): Fault[] {
  if (typeof name === 'string' && /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u.test(name)) return [];
  return [{ rule: STRUCTURE.noName, match: typeof name === 'string' ? name : `${typeof name} as name`, line: null }];
}

function descriptionFaults(description: unknown): Fault[] {
  const length = typeof description === 'string' ? [...description.trim()].length : 0;
  return length >= 10 && length <= 1_024
    ? []
    : [{ rule: STRUCTURE.description, match: `${length} characters`, line: null }];
}
