import { loadConfig } from '../../../start/parts/from-domains.js';
import { createApiClient, tokenFor } from '../../../start/parts/api-client.js';
import { installationOf } from '../../../start/embedded/installation.js';
import { StartError } from '../../../start/embedded/start-error.js';
import { settingsOf } from '../../../start/parts/domain.js';
import { runCommand } from '../../../start/parts/run-command.js';
import { submissionSettings } from '../settings.js';
import { addressOf } from './submit/address-of.js';
import { followSubmission, type FollowedSubmission, postSubmission } from './submit/follow.js';
import { exitCodeOf, submissionFiguresOf, verdictOf } from './submit/report.js';
import { submitOptionsOf, USAGE } from './submit/submit-options.js';

/** Submits a skill to a running installation and prints every move of the submission, up to the verdict. */
async function submit(args: string[], say: (line: string) => void): Promise<FollowedSubmission> {
  const options = submitOptionsOf(args);
  const config = loadConfig();
  const settings = settingsOf(config, { name: 'submission', settings: submissionSettings });
  const url = options.url ?? installationOf(config).apiUrl;
  const token = tokenFor('submit', options.token, config);
  const api = createApiClient({ name: 'submit', url, token, whose: "a user's" });
  const address = await addressOf(options, { say, dataDir: config.dataDir, limits: settings.fetch });
  const accepted = await postSubmission(api, address, options.skill === undefined);
  const { id, state, duplicate, alreadyVerified, statusUrl, nextAction = '' } = accepted;
  const where = `${address.skillName} of ${address.repoUrl}`;
  if (id === null) throw new StartError(`submit: ${where} is in ${state} already. ${nextAction}`.trimEnd());
  if (alreadyVerified) {
    say(`${where} is published already, and its branch has not moved since.`);
    return followSubmission(api, id, () => undefined);
  }
  say(duplicate ? `${where} is submitted already. ${nextAction}` : `${where} is submitted as ${id}.`);
  // Without PUBLIC_URL the API does not know its own address. This command does.
  const link = statusUrl?.startsWith('/') ? `${url}${statusUrl}` : statusUrl;
  if (link !== null) say(`Anybody who has this link can follow the submission: ${link}`);
  return followSubmission(api, id, say);
}

await runCommand({
  name: 'submit',
  usage: USAGE,
  async run(args, say) {
    const seen = await submit(args, say);
    const figures = { ok: seen.published !== null, ...submissionFiguresOf(seen) };
    return { lines: verdictOf(seen), figures, exitCode: exitCodeOf(seen) };
  },
});
