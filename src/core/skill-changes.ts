import { bodyOf, frontMatterOf } from './front-matter.js';
import { likeness, type Sections, sectionsOf } from './markdown-sections.js';
import { linesOf, plainOf, type TextFile } from './plain-text.js';
import { PRIVILEGES, privilegesOf } from './privilege.js';

export type SkillText = readonly TextFile[];

/** Front matter that grants something, by the names that one agent or another knows it under. */
const GRANTS =
  /^(?:allowed[-_]?tools|tools|permissions?|capabilities|scopes?|network|hosts|domains|env|mcp[-_]?servers)$/;

/** And that withholds something: less of it is more. */
const DENIALS = /^(?:disallowed|denied|deny|forbidden|blocked)(?:[-_]?(?:tools|permissions|hosts))?$/;

/** What can't be taken back. Bounded in every part: a line may be as long as a file. */
const DESTRUCTIVE: Readonly<Record<string, RegExp>> = {
  'deletes folders':
    /\brm\s+(?:-\w{1,20}\s+){0,5}-\w{0,20}[rR]|\bshutil\.rmtree\b|\brmdir\s+\/s|\bRemove-Item\b.{0,200}-Recurse|\brmSync?\(.{0,200}recursive|\brimraf\b/i,
  'throws work in git away':
    /\bgit\s+(?:push\b.{0,200}(?:--force|\s-f\b)|reset\s+--hard|clean\s+-\w{0,20}[fd]|branch\s+-D)/,
  'deletes data': /\b(?:DROP\s+(?:TABLE|DATABASE|SCHEMA)|TRUNCATE\s+(?:TABLE\s+)?\w|DELETE\s+FROM)\b/i,
  'writes over disks': /\b(?:mkfs|wipefs|shred)\b|\bdd\b.{0,200}\bof=|>\s*\/dev\/(?:sd|nvme|disk)/,
  'removes what runs elsewhere':
    /\bkubectl\s+delete\b|\bterraform\s+destroy\b|\bdocker\s+(?:system|volume)\s+prune\b|\baws\b.{0,200}\b(?:delete|terminate)-/i,
  'stops the machine': /\b(?:shutdown|reboot|halt|poweroff)\s+(?:-|now|\/)|\bkill\s+-9\s+-1\b/i,
};

const SECURITY = /\b(?:security|safety|permissions?|privacy|guardrails?|risks?)\b/;

/** Below half, more of a section is new than stayed. */
const MUCH_REWRITTEN = 0.5;

/** Why somebody who trusted the skill as it was should look again. */
export function grownReasons(before: SkillText, after: SkillText): string[] {
  return [
    ...grantedIn(before, after),
    ...privilegedIn(before, after),
    ...unsecuredIn(before, after),
    ...destructiveIn(before, after),
  ];
}

/** Why it is another skill to work with than it was. */
export function movedReasons(before: SkillText, after: SkillText): string[] {
  return [...movedFrontMatter(before, after), ...movedSections(before, after), ...movedFiles(before, after)];
}

function grantedIn(before: SkillText, after: SkillText): string[] {
  const [had, has] = [frontMatterOf(skillFileOf(before)), frontMatterOf(skillFileOf(after))];
  const granted = [...has].flatMap(([key, value]) => {
    if (!GRANTS.test(key)) return [];
    const old = new Set(wordsOf(had.get(key) ?? ''));
    return wordsOf(value)
      .filter((word) => !old.has(word))
      .map((word) => `It asks for more: ${key} ${word}.`);
  });
  const allowed = [...had].flatMap(([key, value]) => {
    if (!DENIALS.test(key)) return [];
    const now = new Set(wordsOf(has.get(key) ?? ''));
    return wordsOf(value)
      .filter((word) => !now.has(word))
      .map((word) => `It no longer rules out: ${key} ${word}.`);
  });
  return [...granted, ...allowed];
}

/** `Read, Bash(git add, git commit)`, a list in brackets or one with a dash for each: what is in round brackets stays together. */
function wordsOf(value: string): string[] {
  const words = value.match(/[^\s,[\]"'()]+(?:\([^)]*\)?)?/g) ?? [];
  // Neither the dash of a list, nor the sign of a text in several lines, asks for anything.
  return words.filter((word) => !/^(?:-|[>|][-+\d]*)$/.test(word) && !word.startsWith('#'));
}

function privilegedIn(before: SkillText, after: SkillText): string[] {
  const had = new Set(privilegesOf(before).map(({ kind }) => kind));
  return privilegesOf(after)
    .filter(({ kind }) => !had.has(kind))
    .map(({ kind, file }) => `${PRIVILEGES[kind]} (${file})`);
}

/** A section that is left as a title alone has vanished too. */
function unsecuredIn(before: SkillText, after: SkillText): string[] {
  const [had, has] = [securitySectionsOf(before), securitySectionsOf(after)];
  if (has.length < had.length) return ['A section about security is gone.'];
  const [hadLines, hasLines] = [had.flat().length, has.flat().length];
  return hasLines < hadLines * MUCH_REWRITTEN ? ['What it says about security has shrunk to less than half.'] : [];
}

function securitySectionsOf(files: SkillText): (readonly string[])[] {
  return files.filter(isMarkdown).flatMap(({ text }) => {
    const sections = [...sectionsOf(bodyOf(text))];
    return sections.filter(([title]) => SECURITY.test(title)).map(([, lines]) => lines);
  });
}

function destructiveIn(before: SkillText, after: SkillText): string[] {
  const [had, has] = [plainLinesOf(before), plainLinesOf(after)];
  const countOf = (lines: readonly string[], pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  return Object.entries(DESTRUCTIVE)
    .filter(([, pattern]) => countOf(has, pattern) > countOf(had, pattern))
    .map(([what]) => `It has a new place that ${what}.`);
}

/** Without empty ones, of which a file may have half a million. */
function plainLinesOf(files: SkillText): string[] {
  return files.flatMap(({ text }) => linesOf(text).flatMap((line) => (line === '' ? [] : [plainOf(line)])));
}

function movedFrontMatter(before: SkillText, after: SkillText): string[] {
  const [had, has] = [frontMatterOf(skillFileOf(before)), frontMatterOf(skillFileOf(after))];
  return [...has]
    .filter(([key, value]) => linesIn(value) > linesIn(had.get(key)))
    .map(([key]) => `Its front matter says more: ${key}.`);
}

function linesIn(value: string | undefined): number {
  return value === undefined ? 0 : value.split('\n').length;
}

function movedSections(before: SkillText, after: SkillText): string[] {
  const [had, has] = [sectionsOf(bodyOf(skillFileOf(before))), sectionsOf(bodyOf(skillFileOf(after)))];
  return [
    ...titlesOnlyIn(has, had).map((title) => `A section is new: ${title}.`),
    ...titlesOnlyIn(had, has).map((title) => `A section is gone: ${title}.`),
    ...[...has]
      .filter(([title, lines]) => had.has(title) && isMuchRewritten(had.get(title) ?? [], lines))
      .map(([title]) => (title === '' ? 'Its opening is much rewritten.' : `A section is much rewritten: ${title}.`)),
  ];
}

function titlesOnlyIn(these: Sections, those: Sections): string[] {
  return [...these.keys()].filter((title) => !those.has(title));
}

function movedFiles(before: SkillText, after: SkillText): string[] {
  const [had, has] = [before, after].map((files) => new Map(files.map(({ path, text }) => [path, text])));
  if (!had || !has) return [];
  const rewritten = [...has].filter(([path, text]) => {
    const old = had.get(path);
    return path !== SKILL_FILE && old !== undefined && isMuchRewritten(linesOf(old), linesOf(text));
  });
  return [
    ...[...has.keys()].filter((path) => !had.has(path)).map((path) => `A file is new: ${path}.`),
    ...[...had.keys()].filter((path) => !has.has(path)).map((path) => `A file is gone: ${path}.`),
    ...rewritten.map(([path]) => `A file is much rewritten: ${path}.`),
  ];
}

function isMuchRewritten(before: readonly string[], after: readonly string[]): boolean {
  return likeness(before, after) < MUCH_REWRITTEN;
}

const SKILL_FILE = 'SKILL.md';

function isMarkdown({ path }: TextFile): boolean {
  return /\.(?:md|mdx|markdown)$/i.test(path);
}

function skillFileOf(files: SkillText): string {
  return files.find(({ path }) => path === SKILL_FILE)?.text ?? '';
}
