import { parseArgs } from 'node:util';
import { StartError } from '../../../../start/embedded/start-error.js';

export interface UploadOptions {
  /** Files and folders of this machine. */
  paths: string[];
  /** The address of the API. Undefined: the address in the settings. */
  url: string | undefined;
  token: string | undefined;
}

export const USAGE = 'npm run upload -- <files or folders> [--url http://127.0.0.1:3000] [--token …]';

export function uploadOptionsOf(args: string[]): UploadOptions {
  const { values, positionals: paths } = parseArguments(args);
  if (paths.length === 0) throw new StartError(`upload: name files or folders: ${USAGE}`);
  if (values.url !== undefined && !URL.canParse(values.url)) {
    throw new StartError(`upload: --url ${values.url} is not a URL; write it like http://127.0.0.1:3000.`);
  }
  return { paths, url: values.url?.replace(/\/+$/, ''), token: values.token };
}

function parseArguments(args: string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({ args, allowPositionals: true, options: { url: text, token: text } });
  } catch (cause) {
    throw new StartError(`upload: ${(cause as Error).message}. Use ${USAGE}`, { cause });
  }
}
