import { ConfigError, loadConfig } from '../../../config.js';
import { createApiClient, tokenFor } from '../../../start/parts/api-client.js';
import { asksForHelp } from '../../../start/parts/asks-for-help.js';
import { installationOf } from '../../../start/embedded/installation.js';
import { StartError } from '../../../start/embedded/start-error.js';
import { addressOf } from '../../../start/submit/address-of.js';
import { follow, type Seen, submitSkill } from './submit/follow.js';
import { EXIT_NOT_SUBMITTED, exitCodeOf, figuresOf, verdictOf } from './submit/report.js';
import { submitOptionsOf, USAGE } from './submit/submit-options.js';

/** Submits a skill to a running installation and tells how it goes, to its verdict. */
async function submit(args: string[]): Promise<Seen> {
  const options = submitOptionsOf(args);
  const config = loadConfig();
  const url = options.url ?? installationOf(config).apiUrl;
  const token = tokenFor('submit', options.token, config);
  const api = createApiClient({ name: 'submit', url, token, whose: "a user's" });
  const address = await addressOf(options, say);
  const accepted = await submitSkill(api, address, options.skill === undefined);
  const { id, state, duplicate, statusUrl, nextAction = '' } = accepted;
  const where = `${address.skillName} of ${address.repoUrl}`;
  if (id === null) throw new StartError(`submit: ${where} is in ${state} already. ${nextAction}`.trimEnd());
  say(duplicate ? `${where} is submitted already. ${nextAction}` : `${where} is submitted as ${id}.`);
  // Without PUBLIC_URL the API does not know its own address; here it is known.
  const link = statusUrl?.startsWith('/') ? `${url}${statusUrl}` : statusUrl;
  if (link !== null) say(`Whoever has this link sees how it goes: ${link}`);
  return follow(api, id, say);
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
    say(JSON.stringify(figuresOf(seen)));
    process.exitCode = exitCodeOf(seen);
  } catch (error) {
    const sentence = sentenceOf(error);
    process.stderr.write(`${sentence}\n`);
    say(JSON.stringify({ ok: false, problem: sentence }));
    process.exitCode = EXIT_NOT_SUBMITTED;
  }
}

/** A reason that its reader can act on stands alone; anything else is a fault of ours and shows where. */
function sentenceOf(error: unknown): string {
  if (error instanceof StartError || error instanceof ConfigError) return error.message;
  return `submit: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
