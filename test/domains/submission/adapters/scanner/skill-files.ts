import type { SkillFile } from '../../../../../src/domains/submission/ports/skill.js';

export const FRONT_MATTER = '---\nname: sample\ndescription: A sample of a skill, long enough.\n---\n';

export function fileOf(path: string, content: string | Uint8Array, isExecutable = false): SkillFile {
  return { path, bytes: typeof content === 'string' ? Buffer.from(content) : content, isExecutable };
}

/** A skill of a valid structure whose SKILL.md has this body. */
export function skillOf(body: string): SkillFile[] {
  return [fileOf('SKILL.md', `${FRONT_MATTER}\n${body}\n`)];
}
