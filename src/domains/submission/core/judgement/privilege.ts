import { linesOf, type Place, placeOf, plainOf, type TextFile } from '../text/plain-text.js';
import { shellGrantLine } from './shell-grant.js';

/** Privileges: a skill that has one is reviewed by a person, however good its score is. */
export const PRIVILEGES = {
  shell: 'It may run any command.',
  outsideWrites: 'It writes outside the project.',
  secrets: 'It reads the environment or keys.',
  elevation: 'It raises its own rights.',
  scripts: 'It brings scripts that are run.',
} as const;
export type PrivilegeKind = keyof typeof PRIVILEGES;

export interface Privilege extends Place {
  kind: PrivilegeKind;
}

/** Paths outside the project: home folders, system folders and folders above the project. Scratch folders (/tmp) do not
 *  count, because they hold nobody's data. */
const OUTSIDE = String.raw`["'(]?(?:~[\w.-]{0,32}/|\$\{?HOME\b|\$env:|%(?:APPDATA|USERPROFILE|HOME)|/(?:etc|usr|opt|var|bin|sbin|root|home|Users|Library|System|boot)/|[A-Za-z]:\\|(?:\.\./){2})`;

const PATTERNS: Readonly<Record<Exclude<PrivilegeKind, 'scripts'>, readonly RegExp[]>> = {
  shell: [
    // Tools granted without a limit, in the front matter of one agent or another. shellGrantLine reads the YAML of
    // SKILL.md; these patterns also see files without front matter.
    /^\s*(?:allowed[-_ ]?tools|tools|permissions)\s*:.*(?:\b(?:bash|shell|terminal|execute|run_in_terminal)\b(?!\s*\()|["'\s,[]\*)/i,
    /\b(?:bash|shell)\(\s*(?::?\*|\*:?\*?)\s*\)/i,
    /^\s*-\s*["']?(?:bash|shell|terminal)["']?\s*$/i,
    /--dangerously-skip-permissions|--yolo\b|--full-auto\b/i,
    // A command that is put together at run time can be any command.
    /\bshell\s*=\s*True\b|\bos\.(?:system|popen)\s*\(|\bchild_process\b|\b(?:execSync|spawnSync)\s*\(|\bInvoke-Expression\b|\biex\s*[("$]/i,
    /(?:^|[;&|`(]\s*|\s)eval\s+["'$`]|\b(?:ba|z|da|k)?sh\s+-c\b/i,
    /\|\s*(?:sudo\s+)?(?:ba|z|da|k|fi)?sh\b|\|\s*(?:python[\d.]*|node|perl|ruby)\s*(?:-|$)/i,
  ],
  outsideWrites: [
    new RegExp(String.raw`(?:^|[^<>=-])>{1,2}\|?\s*${OUTSIDE}`, 'i'),
    new RegExp(
      String.raw`\b(?:cp|mv|ln|tee|install|rsync|mkdir|touch|rm|dd|tar|unzip|git\s+clone|sed\s+-i)\b[^|;&\n]{0,160}?\s(?:of=|-C\s*)?${OUTSIDE}`,
      'i',
    ),
    new RegExp(
      String.raw`\b(?:curl|wget)\b[^|;&\n]{0,200}?\s-{1,2}(?:o|O|output|output-document)[\s=]*${OUTSIDE}`,
      'i',
    ),
    new RegExp(
      String.raw`\b(?:open|write_text|writeFile(?:Sync)?|copyFile(?:Sync)?)\s*\(\s*(?:os\.path\.expanduser\()?${OUTSIDE}`,
      'i',
    ),
    /\b(?:npm|pnpm|yarn|bun)\s+(?:install|i|add|link|global)\b[^|;&\n]{0,80}(?:\s-g\b|--global\b)|\byarn\s+global\b/i,
    /\bcrontab\s+-|\b(?:systemctl|launchctl)\s+(?:enable|load|bootstrap)\b|\bschtasks\b/i,
    /\bgit\s+config\s+--(?:global|system)\b/i,
  ],
  secrets: [
    /\bprocess\.env\b|\bos\.environ\b|\bgetenv\s*\(|\bprintenv\b|\bSystem\.getenv\b|\bENV\[|\$env:\w|\benv\s*(?:\||>)|\bDeno\.env\b/,
    /\$\{?[A-Z0-9_]*(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PRIVATE_KEY|ACCESS_KEY)[A-Z0-9_]*\b/,
    /(?:~|\$\{?HOME\}?|%USERPROFILE%)[/\\]\.?(?:ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|config[/\\]gcloud|azure|git-credentials)\b/i,
    /\b(?:id_rsa|id_ed25519|\.netrc|\.git-credentials|wallet\.dat|keychain|find-generic-password|secretsmanager|credential[-_ ]manager)\b/i,
    /(?:^|[\s"'`(/])\.env(?:\.[a-z]+)?(?=$|[\s"'`),;:])/i,
  ],
  elevation: [
    /\b(?:sudo|doas|pkexec|runas)\s+[-\w/$"']/i,
    /\b(?:chmod|chown|chattr|setfacl|icacls)\s+[-+\w/$"']/i,
    /\bos\.(?:chmod|setuid|setgid)\s*\(|\bfs\.chmod|\bSet-ExecutionPolicy\b|\bsetcap\s|\bsetuid\b/i,
    /--privileged\b|\bNOPASSWD\b/,
  ],
};

/** Files that can be run as they are, and source files of programs. */
const SCRIPT =
  /\.(?:sh|bash|zsh|fish|py|js|mjs|cjs|ts|mts|rb|pl|php|lua|ps1|psm1|bat|cmd|vbs|applescript|scpt|command|go|rs|jar|exe|awk)$/i;

/** Case is ignored, because some agents accept the name in any case. */
const SKILL_FILE = /^skill\.md$/i;

/** Names the first place of each kind. Prose and fenced code count alike, because an agent follows both. */
export function privilegesOf(files: readonly TextFile[]): Privilege[] {
  const read = files.map(({ path, text }) => {
    const lines = linesOf(text);
    return { path, lines, plain: lines.map(plainOf), shellGrant: SKILL_FILE.test(path) ? shellGrantLine(text) : null };
  });
  const kinds = Object.keys(PATTERNS) as (keyof typeof PATTERNS)[];
  return [...kinds.flatMap((kind) => firstOf(kind, read)), ...scriptPrivilegeOf(files)];
}

interface ReadFile {
  path: string;
  lines: readonly string[];
  plain: readonly string[];
  /** Index of the line of the front matter that grants a shell. */
  shellGrant: number | null;
}

function firstOf(kind: keyof typeof PATTERNS, files: readonly ReadFile[]): Privilege[] {
  for (const { path, lines, plain, shellGrant } of files) {
    const matched = plain.findIndex((line) => line !== '' && PATTERNS[kind].some((pattern) => pattern.test(line)));
    const at = matched < 0 && kind === 'shell' ? shellGrant : matched;
    if (at !== null && at >= 0) return [{ kind, ...placeOf(path, at, lines[at] ?? '') }];
  }
  return [];
}

function scriptPrivilegeOf(files: readonly TextFile[]): Privilege[] {
  const script = files.find(isScript);
  return script ? [{ kind: 'scripts', ...placeOf(script.path, 0, script.path) }] : [];
}

export function isScript({ path, text, isExecutable }: TextFile): boolean {
  return isExecutable || SCRIPT.test(path) || /^\uFEFF?#!/.test(text);
}
