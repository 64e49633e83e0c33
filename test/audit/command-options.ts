import { parseArgs } from 'node:util';
import { messageOf } from '../../src/core/errors.js';

type Options = Record<string, number | string | boolean>;

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What a command was given, over its defaults. With `--help`, or with what it does not know, it says what it is and ends. */
export function commandOptions<const O extends Options>(
  name: string,
  about: string,
  defaults: O,
): { [K in keyof O]: O[K] extends number ? number : O[K] extends string ? string : boolean } {
  const usage = usageOf(name, about, defaults);
  try {
    const given = readOptions(process.argv.slice(2), defaults);
    if (given !== 'help') return given as never;
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${name}: ${error.message}\n${usage}\n`);
    process.exit(2);
  }
}

export function readOptions(args: readonly string[], defaults: Options): Options | 'help' {
  const given = parsed(args, defaults);
  if (given['help'] === true) return 'help';
  return Object.fromEntries(
    Object.entries(defaults).map(([name, usual]) => [name, valueOf(name, given[name] ?? usual, usual)]),
  );
}

function parsed(args: readonly string[], defaults: Options): Record<string, string | boolean | undefined> {
  const kinds = Object.entries({ ...defaults, help: false }).map(
    ([name, usual]) => [name, { type: typeof usual === 'boolean' ? 'boolean' : 'string' }] as const,
  );
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(kinds) }).values;
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

function valueOf(name: string, given: string | number | boolean, usual: string | number | boolean) {
  if (typeof usual !== 'number') return given;
  const number = Number(given);
  if (Number.isFinite(number) && number >= 0 && given !== '') return number;
  throw new UsageError(`--${name} expects a number, got '${String(given)}'`);
}

function usageOf(name: string, about: string, defaults: Options): string {
  const options = Object.entries(defaults).map(([option, usual]) =>
    typeof usual === 'boolean' ? `[--${option}]` : `[--${option} ${String(usual)}]`,
  );
  return [`npm run ${name} -- ${options.join(' ')}`, `  ${about}`].join('\n');
}
