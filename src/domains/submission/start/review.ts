import { loadConfig } from '../../../start/parts/from-domains.js';
import { createApiClient, tokenFor } from '../../../start/parts/api-client.js';
import { installationOf } from '../../../start/embedded/installation.js';
import { runCommand } from '../../../start/parts/run-command.js';
import { reviewOptionsOf, USAGE } from './review/review-options.js';
import { FollowedSubmission } from './submit/follow.js';
import { submissionFiguresOf, verdictOf } from './submit/report.js';

/** Approves or rejects a submission that waits for a person. */
async function review(args: string[]): Promise<FollowedSubmission> {
  const { decision, id, reason, ...given } = reviewOptionsOf(args);
  const config = loadConfig();
  const url = given.url ?? installationOf(config).apiUrl;
  const token = tokenFor('review', given.token, config);
  const api = createApiClient({ name: 'review', url, token, whose: "a reviewer's" });
  const path = `/api/v1/admin/submissions/${id}/${decision}`;
  return api.read(await api.call('POST', path, reason === undefined ? {} : { reason }), FollowedSubmission);
}

await runCommand({
  name: 'review',
  usage: USAGE,
  async run(args) {
    const seen = await review(args);
    return { lines: verdictOf(seen), figures: { ok: true, ...submissionFiguresOf(seen) }, exitCode: 0 };
  },
});
