import { isScript, type PrivilegeKind, PRIVILEGES } from '../../core/judgement/privilege.js';
import type { RuleCase, RuleCheck } from './judge-rules-case.js';

interface PrivilegeRule {
  /** Marks of the criterion least privilege: the privilege that can do most harm costs most. */
  costs: number;
  /** Words in the prose that explain why the skill needs the privilege. */
  accountedBy: RegExp;
}

const RULES: Readonly<Record<PrivilegeKind, PrivilegeRule>> = {
  shell: { costs: 4, accountedBy: /\b(?:commands?|terminal|shell|cli|command[- ]line)\b/i },
  outsideWrites: {
    costs: 3,
    accountedBy: /\b(?:install(?:s|ed|ation)?|home (?:folder|directory)|global(?:ly)?|system[- ]wide)\b/i,
  },
  secrets: {
    costs: 2,
    accountedBy: /\b(?:api[- ]?keys?|tokens?|credentials?|environment|env vars?|secrets?|passwords?|auth\w*)\b/i,
  },
  elevation: { costs: 4, accountedBy: /\b(?:permissions?|root|admin\w*|privileges?|executable|rights)\b/i },
  scripts: { costs: 1, accountedBy: /\b(?:scripts?|runs?|running|execut\w+)\b/i },
};

const KINDS = Object.keys(RULES) as PrivilegeKind[];

/** Rules about the privileges of a skill, their explanation, and the warnings to its users. */
export const PRIVILEGE_CHECKS: readonly RuleCheck[] = [
  ...KINDS.map((kind): RuleCheck => ({
    name: `needs no privilege: ${kind}`,
    criterion: 'leastPrivilege',
    costs: RULES[kind].costs,
    says: PRIVILEGES[kind],
    fault: ({ privileges }) => findPlace(kind, privileges),
  })),
  ...KINDS.map((kind): RuleCheck => ({
    name: `accounts for a privilege: ${kind}`,
    criterion: 'capabilitiesJustified',
    costs: 4,
    says: `${PRIVILEGES[kind]} SKILL.md does not say why.`,
    fault: ({ privileges, prose }) => !RULES[kind].accountedBy.test(prose) && findPlace(kind, privileges),
  })),
  {
    name: 'warns of what it can do',
    criterion: 'securityNotes',
    costs: 5,
    says: 'It can do harm, and no sentence says how to use it safely.',
    fault: (given) => given.privileges.length > 0 && !hasCaution(given),
  },
  {
    name: 'has a section on security',
    criterion: 'securityNotes',
    costs: 3,
    says: 'It can do harm, and has no section on security, permissions or limits.',
    fault: (given) => given.privileges.length > 0 && !hasSecuritySection(given),
  },
  {
    name: 'mentions its scripts',
    criterion: 'consistentBehaviour',
    costs: 4,
    says: 'It brings a script that none of its documents mentions.',
    fault: hasUnmentionedScript,
  },
];

/** A script is shown by its path alone, because a line of the script proves nothing. */
function findPlace(kind: PrivilegeKind, privileges: RuleCase['privileges']): ReturnType<RuleCheck['fault']> {
  const found = privileges.find((privilege) => privilege.kind === kind);
  if (!found) return false;
  return kind === 'scripts' ? { ...found, text: '' } : found;
}

function hasCaution({ documents }: RuleCase): boolean {
  return documents.some(({ text }) =>
    /\b(?:caution|warning|careful(?:ly)?|confirm(?:ation)?|ask (?:the user|first|before)|never (?:commit|share|expose|hard-?code|log|run|store)|do not (?:commit|share|expose|run)|back ?up|dry[- ]run|sandbox|read[- ]only|trusted|safely|untrusted)\b/i.test(
      text,
    ),
  );
}

function hasSecuritySection({ documents }: RuleCase): boolean {
  return documents.some(({ text }) =>
    /^#{1,6}.*\b(?:security|safety|permissions?|privacy|limits?|limitations?|risks?|warnings?|caveats?|guardrails?|constraints?|important|boundaries)\b/im.test(
      text,
    ),
  );
}

function hasUnmentionedScript({ material, documents }: RuleCase): boolean {
  const said = documents.map(({ text }) => text).join('\n');
  return material.files.some((file) => isScript(file) && !said.includes(file.path.split('/').at(-1) ?? file.path));
}
