import { closingSentenceOf } from '../../../start/parts/closing-sentence.js';
import { loadConfig } from '../../../start/parts/from-domains.js';
import { createApiClient, tokenFor } from '../../../start/parts/api-client.js';
import { asksForHelp } from '../../../start/parts/asks-for-help.js';
import { installationOf } from '../../../start/embedded/installation.js';
import { StartError } from '../../../start/embedded/start-error.js';
import { addressOf } from './submit/address-of.js';
import { followSubmission, type FollowedSubmission, postSubmission } from './submit/follow.js';
import { EXIT_NOT_SUBMITTED, exitCodeOf, submitFiguresOf, verdictOf } from './submit/report.js';
import { submitOptionsOf, USAGE } from './submit/submit-options.js';

/** Submits a skill to a running installation and prints every move of the submission, up to the verdict. */
async function submit(args: string[]): Promise<FollowedSubmission> {
  const options = submitOptionsOf(args);
  const config = loadConfig();
  const url = options.url ?? installationOf(config).apiUrl;
  const token = tokenFor('submit', options.token, config);
  const api = createApiClient({ name: 'submit', url, token, whose: "a user's" });
  const address = await addressOf(options, { say, dataDir: config.dataDir });
  const accepted = await postSubmission(api, address, options.skill === undefined);
  const { id, state, duplicate, statusUrl, nextAction = '' } = accepted;
  const where = `${address.skillName} of ${address.repoUrl}`;
  if (id === null) throw new StartError(`submit: ${where} is in ${state} already. ${nextAction}`.trimEnd());
  say(duplicate ? `${where} is submitted already. ${nextAction}` : `${where} is submitted as ${id}.`);
  // Without PUBLIC_URL the API does not know its own address. This command does.
  const link = statusUrl?.startsWith('/') ? `${url}${statusUrl}` : statusUrl;
  if (link !== null) say(`Anybody who has this link can follow the submission: ${link}`);
  return followSubmission(api, id, say);
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (asksForHelp(args)) {
    say(USAGE);
    return;
  }
  try {
    const seen = await submit(args);
    for (const line of verdictOf(seen)) say(line);
    say(JSON.stringify(submitFiguresOf(seen)));
    process.exitCode = exitCodeOf(seen);
  } catch (error) {
    const sentence = closingSentenceOf(error, 'submit');
    process.stderr.write(`${sentence}\n`);
    say(JSON.stringify({ ok: false, problem: sentence }));
    process.exitCode = EXIT_NOT_SUBMITTED;
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
