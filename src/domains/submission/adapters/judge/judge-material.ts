import { linesOf, type TextFile } from '../../core/text/plain-text.js';
import { MAX_READ_FILE_BYTES } from '../../core/text/skill-content.js';
import type { Skill, SkillFile } from '../../ports/skill.js';

/** About 70,000 tokens, so that the material fits today's models with room for an answer. No skill that we know is
 *  larger. */
const MAX_TOTAL_BYTES = 256_000;

export interface Material {
  /** SKILL.md first, then files that can be run, then the rest. */
  files: readonly TextFile[];
  /** Paths of files that are left out or cut. */
  unseen: readonly string[];
}

/** The files of a skill that a judge is shown. A file that does not fit, or is no text, is listed as unseen. */
export function materialOf({ files }: Pick<Skill, 'files'>): Material {
  let left = MAX_TOTAL_BYTES;
  const shown: TextFile[] = [];
  // A skill without its instructions can't be judged.
  const unseen: string[] = files.some(({ path }) => path === 'SKILL.md') ? [] : ['SKILL.md'];
  for (const { path, bytes, isExecutable } of files.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    const room = Math.min(MAX_READ_FILE_BYTES, left);
    const text = textOf(bytes, room);
    if (text === undefined || bytes.length > room) unseen.push(path);
    if (text === undefined) continue;
    left -= Math.min(bytes.length, room);
    shown.push({ path, text, isExecutable });
  }
  return { files: shown, unseen };
}

/** When not all files fit, the instructions and the files that are run matter most. */
function rankOf({ path, isExecutable }: SkillFile): number {
  if (path === 'SKILL.md') return 0;
  return isExecutable || /(?:^|\/)(?:scripts?|bin|hooks?)\//i.test(path) ? 1 : 2;
}

/** Undefined for bytes that are no text. A cut text ends with its last whole line, so that no character is cut in
 *  two. */
function textOf(bytes: Uint8Array, room: number): string | undefined {
  const isCut = bytes.length > room;
  const part = isCut ? wholeLines(bytes.subarray(0, room)) : bytes;
  if (part.includes(0) || (isCut && part.length === 0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(part);
  } catch {
    // Bytes that are not UTF-8 can't be read.
    return undefined;
  }
}

function wholeLines(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1);
}

/** The lines of each shown file, by its path. */
export function linesByPath(files: readonly TextFile[]): ReadonlyMap<string, readonly string[]> {
  return new Map(files.map(({ path, text }) => [path, linesOf(text)]));
}
