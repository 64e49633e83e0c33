import { mkdir } from 'node:fs/promises';
import { submissionStages } from '../activities/stages.js';
import { createSkillScanner } from '../adapters/scanner/skill-scanner.js';
import { createGitSkillSource } from '../adapters/git/skill-source-git.js';
import { vendorIn } from '../core/address/skill-address.js';
import { findFiles, keepContent } from '../db/skill-contents.js';
import { publishSkill } from '../db/skills.js';
import { findJudgement, findSubmission } from '../db/submissions.js';
import type { Stages } from '../../../ports/stage.js';
import type { submission } from '../table.js';
import { createConfiguredJudge } from './judge.js';
import type { Sql } from '../../../ports/sql.js';
import type { SubmissionSettings } from '../settings.js';

export async function submissionStagesOf(
  reads: Sql,
  { address, vendors, fetch, scan, temporaryFolder, judge, thresholds, mayRulesApprove }: SubmissionSettings,
): Promise<Stages<typeof submission>> {
  await mkdir(temporaryFolder, { recursive: true });
  return submissionStages({
    find: (id) => findSubmission(reads, id),
    findFiles: (contentHash) => findFiles(reads, contentHash),
    findJudgement: (contentHash, key) => findJudgement(reads, contentHash, key),
    keepContent,
    publish: publishSkill,
    vendorOf: (repoUrl) => vendorIn(repoUrl, { ...address, vendors }),
    source: createGitSkillSource({ ...address, temporaryFolder, ...fetch }),
    scanner: createSkillScanner(scan),
    judge: await createConfiguredJudge({ judge, thresholds }),
    mayJudgeApprove: judge !== null || mayRulesApprove,
  });
}
