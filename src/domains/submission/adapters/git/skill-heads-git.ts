import type { SkillHeads } from '../../ports/skill.js';
import { createWithRepository, type RepositoryOptions } from './with-repository.js';

/** The submitter waits for the answer. A host that is well answers in half a second. */
const TIMEOUT_MS = 2_000;

/** Looks at the same time. A caller who submits many skills must not start a git process for each skill. */
const MAX_LOOKS = 4;

/** Asks a repository for the commit of a branch with `git ls-remote`, under the same rules as a fetch. */
export function createGitSkillHeads(options: RepositoryOptions): SkillHeads {
  const withRepository = createWithRepository({ timeoutMs: TIMEOUT_MS, ...options });
  let looks = 0;

  return {
    async headOf(address) {
      if (looks >= MAX_LOOKS) return null;
      looks += 1;
      try {
        return await withRepository(address, undefined, (repository, { ref }) => repository.head(ref));
      } catch {
        // The fetch, which comes next, meets the same fault and tells the owner.
        return null;
      } finally {
        looks -= 1;
      }
    },
  };
}
