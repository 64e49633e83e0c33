import { defineSettings } from '../../config/settings-part.js';
import { bareTokenIn, jobsOf, jobVariables, keptOf, sourcesOf } from './config/job-settings.js';
import { slaOf, slaVariables } from './config/sla-settings.js';
import {
  judgeOf,
  judgeProblemsIn,
  localFolderProblemsIn,
  scoreProblemsIn,
  stageTimeProblemsIn,
  submissionOf,
  submissionVariables,
} from './config/submission-settings.js';

export const submissionSettings = defineSettings({
  shape: { ...submissionVariables, ...slaVariables, ...jobVariables },
  secrets: ['JUDGE_API_KEY', 'GITHUB_TOKEN'],
  problemsIn: (given, tables) => [
    ...judgeProblemsIn(given),
    ...scoreProblemsIn(given),
    ...stageTimeProblemsIn(given, tables),
    ...localFolderProblemsIn(given),
    ...bareTokenIn(given),
  ],
  settingsOf: (given, projectRoot) => ({
    ...submissionOf(given, projectRoot),
    judge: judgeOf(given),
    mayRulesApprove: given.JUDGE_RULES_MAY_APPROVE === 'true',
    sla: slaOf(given),
    jobs: jobsOf(given),
    sources: sourcesOf(given),
    kept: keptOf(given),
  }),
  // The processes are told where Postgres is, so they could not tell a trial from an installation of many machines.
  toldBy: ({ address }) => ({ SUBMISSION_ALLOW_LOCAL: String(address.allowLocal) }),
});

export type SubmissionSettings = ReturnType<typeof submissionSettings.settingsOf>;
