import { mkdir } from 'node:fs/promises';
import type { SkillHeads } from '../ports/skill.js';
import type { SubmissionSettings } from '../settings.js';

/** The API loads git's adapter only when the first repository is asked. */
export function createSkillHeads({ address, temporaryFolder }: SubmissionSettings): SkillHeads {
  let made: Promise<SkillHeads> | undefined;

  async function make(): Promise<SkillHeads> {
    const { createGitSkillHeads } = await import('../adapters/git/skill-heads-git.js');
    await mkdir(temporaryFolder, { recursive: true });
    return createGitSkillHeads({ ...address, temporaryFolder });
  }

  return {
    async headOf(given) {
      made ??= make();
      try {
        return await (await made).headOf(given);
      } catch {
        // A folder that can't be made may be there at the next try. The fetch, which comes next, tells the owner.
        made = undefined;
        return null;
      }
    },
  };
}
