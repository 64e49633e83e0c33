import { mkdir } from 'node:fs/promises';
import { submissionStages } from '../activities/submission/stages.js';
import { createSkillScanner } from '../adapters/skill-scanner/skill-scanner.js';
import { createGitSkillSource } from '../adapters/skill-source-git.js';
import { vendorIn } from '../core/skill-address.js';
import { findFiles, keepContent } from '../db/skill-contents.js';
import { publishSkill } from '../db/skills.js';
import { findJudgement, findSubmission } from '../db/submissions.js';
import type { Stages } from '../ports/stage.js';
import type { submission } from '../pipelines/submission.js';
import { judgeOf } from './judge.js';
import type { StageParts } from './stages.js';

export async function submissionStagesOf({ reads, config }: StageParts): Promise<Stages<typeof submission>> {
  const { address, vendors, fetchTimeoutMs, temporaryFolder } = config.submission;
  await mkdir(temporaryFolder, { recursive: true });
  return submissionStages({
    find: (id) => findSubmission(reads, id),
    findFiles: (contentHash) => findFiles(reads, contentHash),
    findJudgement: (contentHash, key) => findJudgement(reads, contentHash, key),
    keepContent,
    publish: publishSkill,
    vendorOf: (repoUrl) => vendorIn(repoUrl, { ...address, vendors }),
    source: createGitSkillSource({ ...address, temporaryFolder, timeoutMs: fetchTimeoutMs }),
    scanner: createSkillScanner(),
    judge: await judgeOf(config),
  });
}
