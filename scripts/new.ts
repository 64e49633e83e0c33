// `npm run new -- domain <name> [--plural <names>]` writes a whole domain: two stages and a decision, ready to run and to change.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { namesOf, RefusedName } from './new-domain/names.js';
import { writeDomain } from './new-domain/write-domain.js';

const USAGE = 'npm run new -- domain <name> [--plural <names>]';

async function main(args: readonly string[]): Promise<void> {
  const { positionals, values } = readArguments(args);
  const [kind, name, ...rest] = positionals;
  if (kind !== 'domain' || name === undefined || rest.length > 0) throw new RefusedName(USAGE);
  const names = namesOf(name, values.plural);
  const written = await writeDomain(resolve(import.meta.dirname, '..'), names, new Date());
  console.log(`written:\n${written.map((path) => `  ${path}`).join('\n')}

next:
  npm start                                 # applies its migration; docs/${names.names}.md says how to send ${names.a}
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
