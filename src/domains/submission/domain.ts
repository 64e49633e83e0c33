import { createStatusLinks } from '../../api/items/status-links.js';
import type { DecisionSaves } from '../../ports/decision.js';
import type { Domain } from '../../start/parts/domain.js';
import { addRegistryRoutes } from './api/registry.js';
import { addStatusRoutes, STATUS_LINKS } from './api/status.js';
import { addSubmissionBulkRoute } from './api/submission-bulk.js';
import { addSubmissionListRoute } from './api/submission-list.js';
import { addSubmissionPositionsRoute } from './api/submission-positions.js';
import { addSubmissionQueueRoutes } from './api/submission-queue.js';
import { answerForSubmission } from './api/submission-reader.js';
import { addSubmissionReviewRoutes } from './api/submission-review.js';
import { addSubmissionSlaRoute } from './api/submission-sla.js';
import { addSubmissionStatsRoute } from './api/submission-stats.js';
import { addSubmissionRoutes } from './api/submissions.js';
import { createVerdictLetter } from './api/verdict-letter.js';
import { missingModelRemark } from './core/judgement/approver.js';
import { submissionKeeps } from './db/keeps.js';
import { publishSkill } from './db/skills.js';
import { submissionMetrics } from './db/submission-metrics.js';
import { type SubmissionSettings, submissionSettings } from './settings.js';
import { submissionChecks } from './start/doctor-checks.js';
import { submissionJobs } from './start/jobs.js';
import { createSkillHeads } from './start/skill-heads.js';
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
        (parts, caller, id) =>
          answerForSubmission({ ...parts, sla }, caller, id),
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
  routes(app, parts, settings) {
    const { sla } = settings;
    const links = createStatusLinks(parts.settings.links, STATUS_LINKS);
    const submitting = {
      ...parts,
      links,
      sla,
      submission: settings,
      sendsMail: parts.settings.sendsMail,
      heads: createSkillHeads(settings),
    };
    addSubmissionRoutes(app, submitting);
    addSubmissionBulkRoute(app, submitting);
    addSubmissionReviewRoutes(app, { ...parts, sla });
    addRegistryRoutes(app, parts);
    addStatusRoutes(app, { ...parts, links });
    addSubmissionListRoute(app, { ...parts, sla });
    addSubmissionPositionsRoute(app, parts);
    addSubmissionStatsRoute(app, parts);
    addSubmissionQueueRoutes(app, parts);
    addSubmissionSlaRoute(app, { ...parts, sla });
  },
  letters: ({ links }) => ({ submission: createVerdictLetter(createStatusLinks(links, STATUS_LINKS)) }),
  commands: {
    submit: () => import('./start/submit.js'),
    review: () => import('./start/review.js'),
  },
};
