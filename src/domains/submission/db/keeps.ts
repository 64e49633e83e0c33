import { AGO } from '../../../db/recovery/retention.js';
import type { RetentionPart } from '../../../ports/job.js';

export interface SubmissionKept {
  kept: { skillContentsMs: number; discoveredPackagesMs: number };
}

/** A content may be half a megabyte in hundreds of files, which are deleted with it. */
const BATCH_CONTENTS = 50;

/** No version is published of the content, and no submission that lives or has ended lately has it. Fetching the content again sets
 *  `fetched_at` on, which is checked once more when the row is locked. */
const UNSHOWN = `fetched_at < ${AGO}
  AND NOT EXISTS (SELECT 1 FROM skill_versions v WHERE v.content_hash = old.hash)
  AND NOT EXISTS (SELECT 1 FROM submissions s JOIN items i ON i.id = s.id
    WHERE s.content_hash = old.hash AND (i.ended_at IS NULL OR i.ended_at >= ${AGO}))`;

/** The content is gone, so no submission can be judged by it again. */
const OF_NOTHING = `judged_at < ${AGO} AND NOT EXISTS (SELECT 1 FROM skill_contents c WHERE c.hash = old.content_hash)`;

/** The newest version of a package stays, however old: without its row, the package would be examined and submitted once more. */
const SUPERSEDED = `found_at < ${AGO}
  AND EXISTS (SELECT 1 FROM discovered_packages newer WHERE newer.name = old.name AND newer.found_at > old.found_at)`;

/** Judgements go after the contents that they are of. */
export const submissionKeeps: readonly RetentionPart<SubmissionKept>[] = [
  {
    name: 'skillContents',
    keptMs: ({ kept }) => kept.skillContentsMs,
    table: 'skill_contents',
    isOld: UNSHOWN,
    batchRows: BATCH_CONTENTS,
  },
  { name: 'judgements', keptMs: ({ kept }) => kept.skillContentsMs, table: 'judgements', isOld: OF_NOTHING },
  {
    name: 'discoveredPackages',
    keptMs: ({ kept }) => kept.discoveredPackagesMs,
    table: 'discovered_packages',
    isOld: SUPERSEDED,
  },
];
