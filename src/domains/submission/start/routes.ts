import { createStatusLinks } from '../../../api/items/status-links.js';
import type { ApiParts, App } from '../../../api/parts.js';
import { addRegistryRoutes } from '../api/registry.js';
import { addStatusRoutes } from '../api/status.js';
import { STATUS_LINKS } from '../api/status-links.js';
import { addSubmissionBulkRoute } from '../api/submission-bulk.js';
import { addSubmissionListRoute } from '../api/submission-list.js';
import { addSubmissionPositionsRoute } from '../api/submission-positions.js';
import { addSubmissionQueueRoutes } from '../api/submission-queue.js';
import { addSubmissionReviewRoutes } from '../api/submission-review.js';
import { addSubmissionSlaRoute } from '../api/submission-sla.js';
import { addSubmissionStatsRoute } from '../api/submission-stats.js';
import { addSubmissionRoutes } from '../api/submissions.js';
import type { SubmissionSettings } from '../settings.js';
import { createSkillHeads } from './skill-heads.js';

/** Adds every route of submissions. The API's reference lists them in this order. */
export function addRoutes(app: App, parts: ApiParts, settings: SubmissionSettings): void {
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
}
