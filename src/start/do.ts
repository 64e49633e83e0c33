import { DOMAINS } from '../domains/domains.js';

/** `npm run do -- <domain> <command> …`: runs a command of a domain, which reads the arguments behind its name. */
async function main(): Promise<void> {
  const [domain = '', command = ''] = process.argv.splice(2, 2);
  const run = DOMAINS.find(({ name }) => name === domain)?.commands?.[command];
  if (run) {
    await run();
    return;
  }
  const there = DOMAINS.flatMap(({ name, commands = {} }) => Object.keys(commands).map((each) => `${name} ${each}`));
  process.stderr.write(`there is no command '${domain} ${command}'; there are: ${there.join(', ')}\n`);
  process.exitCode = 64;
}

await main();
