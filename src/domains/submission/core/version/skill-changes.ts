import { bodyOf, frontMatterOf, readFrontMatter } from '../text/front-matter.js';
import { skillGrantsOf } from '../judgement/grants.js';
import { likenessOf, type Sections, sectionsOf } from '../text/markdown-sections.js';
import { linesOf, plainOf, type TextFile } from '../text/plain-text.js';
import { PRIVILEGES, privilegesOf } from '../judgement/privilege.js';

export type SkillText = readonly TextFile[];

/** Actions that can't be undone. Every repetition in a pattern is bounded, because a line may be as long as a file. */
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

/** With a likeness below a half, more lines of a section are new than stayed. */
const MUCH_REWRITTEN = 0.5;

/** Reasons why users who trusted the older version should look at the skill again. */
export function grownReasons(before: SkillText, after: SkillText): string[] {
  return [
    ...grantReasons(before, after),
    ...privilegeReasons(before, after),
    ...securityReasons(before, after),
    ...destructionReasons(before, after),
  ];
}

/** Reasons why the skill works differently than before. */
export function movedReasons(before: SkillText, after: SkillText): string[] {
  return [...movedFrontMatter(before, after), ...movedSections(before, after), ...movedFiles(before, after)];
}

/** Front matter that could be read before and can't be read now may ask for anything. */
function grantReasons(before: SkillText, after: SkillText): string[] {
  const [had, has] = [skillGrantsOf(skillFileOf(before)), skillGrantsOf(skillFileOf(after))];
  return [
    ...(had.isKnown && !has.isKnown ? ['What it asks for can no longer be read.'] : []),
    ...subtract(has.allowed, had.allowed).map((word) => `It asks for more: ${word}.`),
    ...subtract(had.denied, has.denied).map((word) => `It no longer rules out: ${word}.`),
  ];
}

function subtract(these: ReadonlySet<string>, those: ReadonlySet<string>): string[] {
  return [...these].filter((each) => !those.has(each));
}

function privilegeReasons(before: SkillText, after: SkillText): string[] {
  const had = new Set(privilegesOf(before).map(({ kind }) => kind));
  return privilegesOf(after)
    .filter(({ kind }) => !had.has(kind))
    .map(({ kind, file }) => `${PRIVILEGES[kind]} (${file})`);
}

/** Lines are counted besides sections, because a section of which only the title is left is gone too. */
function securityReasons(before: SkillText, after: SkillText): string[] {
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

function destructionReasons(before: SkillText, after: SkillText): string[] {
  const [had, has] = [plainLinesOf(before), plainLinesOf(after)];
  const countOf = (lines: readonly string[], pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  return Object.entries(DESTRUCTIVE)
    .filter(([, pattern]) => countOf(has, pattern) > countOf(had, pattern))
    .map(([action]) => `It has a new place that ${action}.`);
}

/** Empty lines are left out, because a file may have half a million of them. */
function plainLinesOf(files: SkillText): string[] {
  return files.flatMap(({ text }) => linesOf(text).flatMap((line) => (line === '' ? [] : [plainOf(line)])));
}

function movedFrontMatter(before: SkillText, after: SkillText): string[] {
  const [old, now] = [skillFileOf(before), skillFileOf(after)];
  const [had, has] = [frontMatterOf(old), frontMatterOf(now)];
  const longer = [...has].filter(([key, value]) => linesIn(value) > linesIn(had.get(key))).map(([key]) => key);
  return [...new Set([...longer, ...newKeys(old, now)])].map((key) => `Its front matter says more: ${key}.`);
}

/** Keys are read from the YAML, because several keys may stand on one line. */
function newKeys(before: string, after: string): string[] {
  const [had, has] = [readFrontMatter(before), readFrontMatter(after)];
  if (had.is !== 'read' || has.is !== 'read') return [];
  const [old, now] = [had.data, has.data].map((data) => new Set(Object.keys(data).map((key) => key.toLowerCase())));
  return old && now ? subtract(now, old) : [];
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
  return likenessOf(before, after) < MUCH_REWRITTEN;
}

const SKILL_FILE = 'SKILL.md';

function isMarkdown({ path }: TextFile): boolean {
  return /\.(?:md|mdx|markdown)$/i.test(path);
}

function skillFileOf(files: SkillText): string {
  return files.find(({ path }) => path === SKILL_FILE)?.text ?? '';
}
