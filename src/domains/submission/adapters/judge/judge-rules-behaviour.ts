import { firstPlace, linesOf, type Place, placeOf, type TextFile } from '../../core/text/plain-text.js';
import type { ScanFinding } from '../../ports/skill-scanner.js';
import type { RuleCase, RuleCheck } from './judge-rules-case.js';

/** Controls of direction, tags, and joiners that stand beside no emoji and no letter of a script that needs joiners. */
const HIDDEN =
  /[\u{E0000}-\u{E007F}\u202A-\u202E\u2066-\u2069\u2060-\u2064\u180E]|(?<![\p{Extended_Pictographic}\p{M}\uFE0F\p{Script=Arabic}\p{Script=Devanagari}])[\u200B-\u200D]|(?<!^)\uFEFF/u;

/** Longer than a checksum or a key. Pictures inside a document are excepted, because they are data and not
 *  instructions. */
const ENCODED =
  /(?<!data:image\/[\w+.-]{1,20};base64,)\b[A-Za-z0-9+/]{180,}={0,2}|\b[0-9a-fA-F]{200,}\b|(?:\\x[0-9a-fA-F]{2}){12,}|(?:\\u00[0-9a-fA-F]{2}){12,}/;

const DECODED_AND_RUN =
  /\bbase64\s+(?:-d|-D|--decode)\b[^\n]{0,80}\|\s*\w*sh\b|\b(?:eval|exec|Function)\s*\(\s*[^\n]{0,40}(?:atob|b64decode|fromhex|unhexlify|fromCharCode|decompress)\b|\bFromBase64String\b|\b(?:xxd\s+-r)\b[^\n]{0,60}\|/i;

const SECRECY =
  /\b(?:do not|don't|never|without)\s+(?:tell|telling|inform|informing|notify|notifying|alert|alerting|reveal|disclose)\w*\s+(?:\w+\s+){0,3}(?:users?|them|anyone|humans?|operators?)\b|\bwithout\s+(?:\w+\s+){0,3}(?:user'?s?|their|human)\s+(?:knowledge|consent|permission|confirmation|approval)\b|\b(?:silently|secretly|covertly|quietly)\s+(?:run|execute|send|upload|install|post|copy|read|collect|forward|transmit|append|add|include)\b|\b(?:hide|conceal)\s+(?:this|it|the\s+\w+)\s+from\s+(?:the\s+)?(?:user|human|logs?)\b/i;

const PRECEDENCE =
  /\b(?:takes? precedence over|overrides?|supersedes?)\s+(?:all|any|every|the|your)\s+(?:\w+\s+){0,2}(?:instructions?|rules|skills|guidelines|safety|policies|prompts?)\b|\byou (?:are now|must act as)\s+(?:an?\s+)?(?:unrestricted|jailbroken|different|root)\b|\b(?:disable|bypass|skip|turn off)\s+(?:all\s+|any\s+|the\s+|your\s+)*(?:safety|security|permission|confirmation|approval)\s+(?:checks?|prompts?|filters?|guards?|rules|guidelines|measures)\b/i;

const CONDITIONAL =
  /\bif\b[^\n]{0,80}(?:\bdate\s+\+%|datetime\.(?:now|utcnow|today)\(\)[^\n]{0,30}[<>]|Date\.now\(\)\s*[<>]|new Date\(\)\s*[<>]|\$\(hostname\)|\bgethostname\(\)|\$\(whoami\)|\$RANDOM\b|Math\.random\(\)\s*[<>]|random\.random\(\)\s*[<>])/;

/** Rules about hidden text, manipulation, and parts that contradict each other. */
export const BEHAVIOUR_CHECKS: readonly RuleCheck[] = [
  lineCheck('has no hidden characters', 'noObfuscation', 7, 'It holds characters that nobody sees.', HIDDEN),
  lineCheck('has no encoded blobs', 'noObfuscation', 4, 'It holds a long encoded text that nobody can read.', ENCODED),
  lineCheck('runs nothing it decodes', 'noObfuscation', 8, 'It decodes something and runs it.', DECODED_AND_RUN),
  {
    name: 'has no obfuscation found by the scan',
    criterion: 'noObfuscation',
    costs: 5,
    says: 'The scan found something obfuscated.',
    fault: ({ findings }) => hasFinding(findings, /obfusc|unicode|hidden|encod/i),
  },
  {
    name: 'can be read in whole',
    criterion: 'noObfuscation',
    costs: 5,
    says: 'Some of it is no text, or too large to be read.',
    fault: ({ material }) => material.unseen.length > 0,
  },
  {
    name: 'does not speak to the reviewer',
    criterion: 'noSocialEngineering',
    costs: 10,
    says: 'It speaks to its reviewer.',
    fault: ({ addresses }) => addresses[0] ?? false,
  },
  lineCheck(
    'keeps no secrets from its user',
    'noSocialEngineering',
    7,
    'It wants something kept from the user.',
    SECRECY,
  ),
  lineCheck('does not put itself first', 'noSocialEngineering', 7, 'It puts itself above other rules.', PRECEDENCE),
  {
    name: 'has no manipulation found by the scan',
    criterion: 'noSocialEngineering',
    costs: 5,
    says: 'The scan found text that manipulates.',
    fault: ({ findings }) => hasFinding(findings, /inject|social|role|manipul|prompt/i),
  },
  {
    name: 'refers to files that exist',
    criterion: 'consistentBehaviour',
    costs: 3,
    says: 'It refers to a file that is not there.',
    fault: brokenReference,
  },
  lineCheck(
    'behaves the same every day',
    'consistentBehaviour',
    5,
    'What it does depends on date, machine or chance.',
    CONDITIONAL,
  ),
  {
    name: 'names the hosts it talks to',
    criterion: 'capabilitiesJustified',
    costs: 3,
    says: 'It talks to a host that no document names.',
    fault: undisclosedHost,
  },
];

function lineCheck(
  ...[name, criterion, costs, says, pattern]: [RuleCheck['name'], RuleCheck['criterion'], number, string, RegExp]
): RuleCheck {
  return { name, criterion, costs, says, fault: ({ material }) => firstIn(material.files, pattern) };
}

/** Searches the raw text, because the plain text has lost its hidden characters. */
function firstIn(files: readonly TextFile[], pattern: RegExp): Place | false {
  for (const { path, text } of files) {
    const lines = linesOf(text);
    const at = lines.findIndex((line) => pattern.test(line));
    if (at >= 0) return placeOf(path, at, lines[at] ?? '');
  }
  return false;
}

function hasFinding(findings: readonly ScanFinding[], category: RegExp): boolean {
  return findings.some((finding) => finding.severity !== 'info' && category.test(finding.category));
}

/** The first link of SKILL.md to a file that the skill does not have. */
function brokenReference({ main, material }: RuleCase): Place | false {
  const known = [...material.files.map(({ path }) => path), ...material.unseen];
  return (
    firstPlace(main, (line) =>
      [...line.matchAll(/\]\((?!#|\w+:|\/)([^)#\s]{1,200})(?:[#\s][^)]{0,100})?\)/g)].some(([, link = '']) => {
        const path = link.replace(/^\.\//, '').replace(/\/$/, '');
        return !known.some((file) => file === path || file.startsWith(`${path}/`));
      }),
    ) ?? false
  );
}

function undisclosedHost({ material, documents }: RuleCase): Place | false {
  const said = documents.map(({ text }) => text.toLowerCase()).join('\n');
  for (const file of material.files.filter((each) => !documents.includes(each))) {
    const place = firstPlace(file, (line) => hostsIn(line).some((host) => !said.includes(host)));
    if (place) return place;
  }
  return false;
}

function hostsIn(line: string): string[] {
  return [...line.matchAll(/\bhttps?:\/\/([\w.-]{3,253})/gi)]
    .map(([, host = '']) => host.toLowerCase())
    .filter((host) => !/^(?:localhost|127\.|0\.0\.0\.0|www\.w3\.org|.*\bexample\.(?:com|org|net)$)/.test(host));
}
