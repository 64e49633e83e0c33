import { parseArgs } from 'node:util';
import { StartError } from '../../../../start/embedded/start-error.js';

export interface SubmitOptions {
  /** A repository's URL, or a folder of this machine. */
  source: string;
  skill: string | undefined;
  path: string | undefined;
  ref: string | undefined;
  /** The address of the API. Undefined: the address in the settings. */
  url: string | undefined;
  token: string | undefined;
}

export const USAGE =
  'npm run submit -- <git url or folder> [--skill name] [--path folder in the repository] [--ref branch] [--url …] [--token …]';

export function submitOptionsOf(args: string[]): SubmitOptions {
  const { values, positionals } = parseArguments(args);
  const [source, ...more] = positionals;
  if (source === undefined || more.length > 0) throw new StartError(`submit: name one repository or folder: ${USAGE}`);
  if (values.url !== undefined && !URL.canParse(values.url)) {
    throw new StartError(`submit: --url ${values.url} is not a URL; write it like http://127.0.0.1:3000.`);
  }
  const { skill, path, ref, url, token } = values;
  return { source, skill, path, ref, url: url?.replace(/\/+$/, ''), token };
}

function parseArguments(args: string[]) {
  const text = { type: 'string' } as const;
  try {
    const options = { skill: text, path: text, ref: text, url: text, token: text };
    return parseArgs({ args, allowPositionals: true, options });
  } catch (cause) {
    throw new StartError(`submit: ${(cause as Error).message}. Use ${USAGE}`, { cause });
  }
}
