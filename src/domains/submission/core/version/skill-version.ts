import { grownReasons, movedReasons, type SkillText } from './skill-changes.js';

export interface VersionedSkill {
  contentHash: string;
  files: SkillText;
}

export interface NextVersion {
  version: string;
  change: 'first' | 'major' | 'minor' | 'patch' | 'none';
  /** One sentence each, for the users of the skill. */
  reasons: readonly string[];
}

/** Major: users who trusted the skill should look at it again. Minor: the skill works differently than before. Patch:
 *  any other change. The same content keeps its version. */
export function nextVersion(
  previous: (VersionedSkill & { version: string }) | null,
  next: VersionedSkill,
): NextVersion {
  if (previous === null) return { version: '1.0.0', change: 'first', reasons: [] };
  const [major, minor, patch] = numbersOf(previous.version);
  if (previous.contentHash === next.contentHash) return { version: previous.version, change: 'none', reasons: [] };
  const grown = grownReasons(previous.files, next.files);
  if (grown.length > 0) return { version: `${major + 1}.0.0`, change: 'major', reasons: firstOf(grown) };
  const moved = movedReasons(previous.files, next.files);
  if (moved.length > 0) return { version: `${major}.${minor + 1}.0`, change: 'minor', reasons: firstOf(moved) };
  return { version: `${major}.${minor}.${patch + 1}`, change: 'patch', reasons: [] };
}

/** Nobody reads more reasons. They are stored with the audit entry, and a skill may have a hundred thousand of them. */
const MAX_REASONS = 20;

function firstOf(reasons: readonly string[]): string[] {
  const more = reasons.length - MAX_REASONS;
  return more > 0 ? [...reasons.slice(0, MAX_REASONS), `And ${more} more.`] : [...reasons];
}

function numbersOf(version: string): [number, number, number] {
  const [, major, minor, patch] = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(version) ?? [];
  if (patch === undefined) throw new Error(`'${version}' is not a version of the form 1.2.3`);
  return [Number(major), Number(minor), Number(patch)];
}
