import { parseArgs } from 'node:util';
import { StartError } from '../../../../start/embedded/start-error.js';

export interface SearchOptions {
  text: string;
  limit: string | undefined;
  /** The address of the API. Undefined: the address in the settings. */
  url: string | undefined;
  token: string | undefined;
}

export const USAGE = 'npm run search -- "words or a question" [--limit 10] [--url …] [--token …]';

export function searchOptionsOf(args: string[]): SearchOptions {
  const { values, positionals } = parseArguments(args);
  const text = positionals.join(' ').trim();
  if (text === '') throw new StartError(`search: say what to look for: ${USAGE}`);
  if (values.url !== undefined && !URL.canParse(values.url)) {
    throw new StartError(`search: --url ${values.url} is not a URL; write it like http://127.0.0.1:3000.`);
  }
  return { text, limit: values.limit, url: values.url?.replace(/\/+$/, ''), token: values.token };
}

function parseArguments(args: string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({ args, allowPositionals: true, options: { limit: text, url: text, token: text } });
  } catch (cause) {
    throw new StartError(`search: ${(cause as Error).message}. Use ${USAGE}`, { cause });
  }
}
