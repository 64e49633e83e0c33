import { parseArgs } from 'node:util';
import { z } from 'zod';
import { StartError } from '../../../../start/embedded/start-error.js';

const DECISIONS = ['approve', 'reject'] as const;

export interface ReviewOptions {
  decision: (typeof DECISIONS)[number];
  /** The submission's id. */
  id: string;
  /** Told to the submission's owner. */
  reason: string | undefined;
  /** The address of the API. Undefined: the address in the settings. */
  url: string | undefined;
  token: string | undefined;
}

export const USAGE = 'npm run review -- approve <id> | reject <id> --reason "…" [--url …] [--token …]';

export function reviewOptionsOf(args: string[]): ReviewOptions {
  const { values, positionals } = parseArguments(args);
  const [word, id, ...more] = positionals;
  const decision = DECISIONS.find((each) => each === word);
  if (decision === undefined || id === undefined || more.length > 0) {
    throw new StartError(`review: name a decision and one submission: ${USAGE}`);
  }
  if (!z.uuid().safeParse(id).success) {
    throw new StartError(`review: '${id}' is no submission's id; npm run submit prints the id.`);
  }
  const { reason, url, token } = values;
  if (decision === 'reject' && !reason?.trim()) {
    throw new StartError('review: a rejection needs a reason, which its owner is told: add --reason "…".');
  }
  if (url !== undefined && !URL.canParse(url)) {
    throw new StartError(`review: --url ${url} is not a URL; write it like http://127.0.0.1:3000.`);
  }
  return { decision, id, reason, url: url?.replace(/\/+$/, ''), token };
}

function parseArguments(args: string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({ args, allowPositionals: true, options: { reason: text, url: text, token: text } });
  } catch (cause) {
    throw new StartError(`review: ${(cause as Error).message}. Use ${USAGE}`, { cause });
  }
}
