import type { Criterion } from '../domains/submission/core/judgement/judgement.js';

/** What an owner can do about a concern of the judge, by what it is about. */
const FIXES = {
  intentMatchesScope: 'Let the skill do what its description says, and describe all that it does.',
  leastPrivilege: 'Ask only for the tools, folders and keys that the skill cannot do without.',
  noObfuscation: 'Write what is encoded, packed or hidden in plain text.',
  noSocialEngineering: 'Take out what urges, deceives or instructs whoever reads or reviews it.',
  securityNotes: 'Add a section that says what the skill may touch and what to watch out for.',
  templateCompliance: 'Give SKILL.md a front matter with name and description, and sections under headings.',
  consistentBehaviour: 'Let text and scripts agree on what is done.',
  capabilitiesJustified: 'Say beside each powerful command why the skill needs it.',
} as const satisfies Record<Criterion, string>;

/** A judgement may be older than the rubric. */
export function fixOf(criterion: string): string {
  return new Map<string, string>(Object.entries(FIXES)).get(criterion) ?? 'Put this right and submit the skill again.';
}
