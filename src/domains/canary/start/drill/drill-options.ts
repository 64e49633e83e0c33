import { parseArgs } from 'node:util';
import { StartError } from '../../../../start/embedded/start-error.js';

export interface DrillOptions {
  freeze: boolean;
  items: number;
  stageMs: number;
  /** The address of the API. Undefined: the settings name it. */
  url: string | undefined;
  token: string | undefined;
}

/** A worker runs a hundred stages at once by default, so more canaries prove nothing more. */
const MAX_ITEMS = 100;

/** A shorter stage would end before the strike reaches it. Nobody waits for a longer stage. */
const STAGE_MS = { min: 500, max: 60_000 };

export function drillOptionsOf(args: string[]): DrillOptions {
  const { values } = parseOptions(args);
  if (values.url !== undefined && !URL.canParse(values.url)) {
    throw new StartError(`drill: --url ${values.url} is not a URL; write it like http://127.0.0.1:3000.`);
  }
  return {
    freeze: values.freeze,
    items: parseWhole('--items', values.items, { min: 1, max: MAX_ITEMS }),
    stageMs: parseWhole('--stage-ms', values['stage-ms'], STAGE_MS),
    url: values.url?.replace(/\/+$/, ''),
    token: values.token,
  };
}

function parseOptions(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        freeze: { type: 'boolean', default: false },
        items: { type: 'string', default: '3' },
        'stage-ms': { type: 'string', default: '3000' },
        url: { type: 'string' },
        token: { type: 'string' },
      },
    });
  } catch (cause) {
    const known = 'npm run drill -- [--freeze] [--items 3] [--stage-ms 3000] [--url …] [--token …]';
    throw new StartError(`drill: ${(cause as Error).message}. Use ${known}`, { cause });
  }
}

function parseWhole(flag: string, text: string, { min, max }: { min: number; max: number }): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new StartError(`drill: ${flag} takes a whole number from ${min} to ${max}, not '${text}'.`);
}
