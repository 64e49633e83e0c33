import type { RuleCase, RuleCheck } from './judge-rules-case.js';

/** In characters. A shorter body is no instruction. */
const MIN_BODY = 100;

/** In characters. Agents read no more than the maximum. */
const MIN_DESCRIPTION = 10;
const MAX_DESCRIPTION = 1_024;

/** A third of the description's words, because a description names occasions and synonyms that instructions need not
 *  repeat. */
const MIN_SHARED = 1 / 3;

/** Words that any description may contain. */
const COMMON = new Set(
  'about agent also any asks been before both create creating data does each file files from have help helps into like make more need needs only other over skill some such than that their them then these they this tool tools used user users uses using want wants what when where which while will with work working your'.split(
    ' ',
  ),
);

/** Rules about the description, the form of SKILL.md, and whether the two agree. */
export const FORM_CHECKS: readonly RuleCheck[] = [
  {
    name: 'describes itself',
    criterion: 'intentMatchesScope',
    costs: 10,
    says: 'There is no description of what the skill is for.',
    fault: ({ front }) => (front?.description ?? '').length < MIN_DESCRIPTION,
  },
  {
    name: 'says when to use it',
    criterion: 'intentMatchesScope',
    costs: 2,
    says: 'The description does not say when the skill is to be used.',
    fault: ({ front }) =>
      !/\b(?:when(?:ever)?|if|use (?:this|it|for|to|the|proactively)|used? (?:for|to)|for|triggers?|guides?|helps?)\b/i.test(
        front?.description ?? '',
      ),
  },
  {
    name: 'is about what it describes',
    criterion: 'intentMatchesScope',
    costs: 6,
    says: 'The instructions are hardly about what the description names.',
    fault: isOffTopic,
  },
  {
    name: 'instructs',
    criterion: 'intentMatchesScope',
    costs: 6,
    says: 'There are hardly any instructions.',
    fault: ({ body }) => body.trim().length < MIN_BODY,
  },
  {
    name: 'has a SKILL.md with front matter',
    criterion: 'templateCompliance',
    costs: 10,
    says: 'SKILL.md with valid YAML front matter is missing.',
    fault: ({ front }) => front === undefined,
  },
  {
    name: 'has a plain name',
    criterion: 'templateCompliance',
    costs: 3,
    says: 'The name should be lower-case letters, digits and hyphens, at most 64.',
    fault: ({ front }) => !/^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/.test(front?.name ?? ''),
  },
  {
    name: 'has a description of the usual length',
    criterion: 'templateCompliance',
    costs: 3,
    says: 'The description should have 10 to 1024 characters.',
    fault({ front }) {
      const { length } = front?.description ?? '';
      return length < MIN_DESCRIPTION || length > MAX_DESCRIPTION;
    },
  },
  {
    name: 'has headings',
    criterion: 'templateCompliance',
    costs: 2,
    says: 'SKILL.md has no headings.',
    fault: ({ prose }) => !/^#{1,6}\s+\S/m.test(prose),
  },
];

/** Compares words by their beginnings, so that `testing` and `tests` count as the same word. */
function isOffTopic({ front, body }: RuleCase): boolean {
  const topic = new Set(stemsOf(front?.description ?? '').filter((word) => !COMMON.has(word)));
  if (topic.size === 0) return false;
  const said = new Set(stemsOf(`${front?.name ?? ''} ${body}`));
  const shared = [...topic].filter((word) => said.has(word)).length;
  return shared / topic.size < MIN_SHARED;
}

function stemsOf(text: string): string[] {
  return (text.toLowerCase().match(/\p{L}{4,}/gu) ?? []).map((word) => (COMMON.has(word) ? word : word.slice(0, 5)));
}
