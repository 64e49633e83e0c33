import { createStatusLinks } from '../../api/items/status-links.js';
import type { DecisionSaves } from '../../ports/decision.js';
import type { Domain } from '../../start/parts/domain.js';
import { STATUS_LINKS } from './api/status-links.js';
import { createVerdictLetter } from './api/verdict-letter.js';
import { missingModelRemark } from './core/judgement/approver.js';
import { submissionKeeps } from './db/keeps.js';
import { publishSkill } from './db/skills.js';
import { submissionMetrics } from './db/submission-metrics.js';
import { type SubmissionSettings, submissionSettings } from './settings.js';
import { submissionChecks } from './start/doctor-checks.js';
import { submissionJobs } from './start/jobs.js';
import { submission } from './table.js';

const decisions = {
  TIER3_REVIEW: {
    approve: (transaction, itemId) => publishSkill(transaction, itemId, { tier: 'tier3', method: 'review' }),
  },
} as const satisfies DecisionSaves<typeof submission>;

/** Skills that people submit, from the repository to the registry. */
export const submissionDomain: Domain<SubmissionSettings> = {
  name: 'submission',
  tables: [submission],
  words: ['submission', 'submissions', 'skill', 'skills', 'judge', 'judgement', 'vendor', 'tier1', 'tier2', 'tier3'],
  settings: submissionSettings,
  decisions: { submission: decisions },
  follows: [
    {
      kind: 'submissions',
      pipeline: 'submission',
      summary: 'What happens to a submission, as it happens',
      snapshotFor:
        ({ sla }) =>
        async (parts, caller, id) => {
          const { answerForSubmission } = await import('./api/submission-reader.js');
          return answerForSubmission({ ...parts, sla }, caller, id);
        },
    },
  ],
  jobs: submissionJobs,
  keeps: submissionKeeps,
  metrics: submissionMetrics,
  checks: submissionChecks,
  remarks: (settings) => [missingModelRemark(settings)].filter((remark) => remark !== null),
  async stages({ reads }, settings) {
    const { submissionStagesOf } = await import('./start/submission-stages.js');
    return { submission: await submissionStagesOf(reads, settings) };
  },
  async routes(app, parts, settings) {
    const { addRoutes } = await import('./start/routes.js');
    addRoutes(app, parts, settings);
  },
  letters: ({ links }) => ({ submission: createVerdictLetter(createStatusLinks(links, STATUS_LINKS)) }),
  commands: {
    submit: () => import('./start/submit.js'),
    review: () => import('./start/review.js'),
  },
};
