import { ConfigError, loadConfig } from '../config.js';
import { createApiClient, tokenFor } from './api-client.js';
import { installationOf } from './installation.js';
import { StartError } from './start-error.js';
import { addressOf } from './submit/address-of.js';
import { follow, type Seen, submitSkill } from './submit/follow.js';
import { EXIT_NOT_SUBMITTED, exitCodeOf, figuresOf, verdictOf } from './submit/report.js';
import { submitOptionsOf } from './submit/submit-options.js';

/** Submits a skill to a running installation and tells how it goes, to its verdict. */
async function submit(args: string[]): Promise<Seen> {
  const options = submitOptionsOf(args);
  const config = loadConfig();
  const url = options.url ?? installationOf(config).apiUrl;
  const api = createApiClient({ name: 'submit', url, token: tokenFor('submit', options.token, config) });
  const address = await addressOf(options, say);
  const { id, state, duplicate, nextAction = '' } = await submitSkill(api, address);
  const where = `${address.skillName} of ${address.repoUrl}`;
  if (id === null) throw new StartError(`submit: ${where} is in ${state} already. ${nextAction}`.trimEnd());
  say(duplicate ? `${where} is submitted already. ${nextAction}` : `${where} is submitted as ${id}.`);
  return follow(api, id, say);
}

async function main(): Promise<void> {
  try {
    const seen = await submit(process.argv.slice(2));
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
