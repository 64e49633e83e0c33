import { findNewestContent } from '../db/skills.js';
import { findVerified, type SubmissionHead } from '../db/submission-view.js';
import type { NewSubmission } from '../db/submissions.js';
import type { SkillHeads } from '../ports/skill.js';
import type { Sql } from '../../../ports/sql.js';

/** The submission that published the newest version of the skill, if its branch still has the commit of that submission.
 *  Null: the skill is not published, its branch has moved, or its repository does not answer. The repository of a skill
 *  that is not published is not asked. */
export async function findUnchanged(
  { pool, heads }: { pool: Sql; heads: SkillHeads },
  submission: NewSubmission,
): Promise<SubmissionHead | null> {
  // An older version's content is not enough: a branch that went back to it asks for a new version.
  const contentHash = await findNewestContent(pool, submission);
  if (contentHash === null) return null;
  const commit = await heads.headOf(submission);
  return commit === null ? null : findVerified(pool, { ...submission, commit, contentHash });
}
