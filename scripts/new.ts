// `npm run new -- domain <name> [--plural <names>]` writes a whole domain: two stages and a decision, ready to run and to change.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { namesOf, RefusedName } from './new-domain/names.js';
import { writeDomain } from './new-domain/write-domain.js';

const USAGE = 'npm run new -- domain <name> [--plural <names>]';

async function main(args: readonly string[]): Promise<void> {
  const { positionals, values } = readArguments(args);
  const [kind, name, ...rest] = positionals;
  if (kind !== 'domain') throw new RefusedName(`say what to write, which can only be a domain:\n${USAGE}`);
  if (name === undefined) throw new RefusedName(`the domain needs a name, such as purchase-order:\n${USAGE}`);
  if (rest.length > 0) throw new RefusedName(`a domain has one name; write its words with hyphens between:\n${USAGE}`);
  const names = namesOf(name, values.plural);
  const written = await writeDomain(resolve(import.meta.dirname, '..'), names, new Date());
  console.log(`written:\n${written.map((path) => `  ${path}`).join('\n')}

next:
  npm start                                 # applies the migration; stop a running npm start first; docs/${names.names}.md says how to send ${names.a}
  npm test -- test/domains/${name}
  npm run check`);
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: { plural: { type: 'string' } } });
  } catch (error) {
    throw new RefusedName(`${(error as Error).message}\n${USAGE}`);
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof RefusedName)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
