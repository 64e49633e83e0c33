import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { type Config, configOf } from './config/config-of.js';
import { contradictionsIn } from './config/contradictions.js';
import { overlay, overlayOf, PIPELINE_NAMES, prefixOf, withoutPrefix } from './config/pipeline-overlay.js';
import { SECRETS, settings } from './config/settings.js';

export type { Config } from './config/config-of.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The same from src/ and from dist/. */
export const projectRoot = resolve(import.meta.dirname, '..');

/** The version that runs, as operators see it beside each worker. */
export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(resolve(projectRoot, 'package.json'), 'utf8'));
  return z.object({ version: z.string() }).parse(manifest).version;
}

/** Exit code of a process whose settings are wrong (EX_CONFIG of sysexits.h): starting it again can't help. */
export const EXIT_CONFIG = 78;

export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    const many = problems.length > 1;
    super(`cannot start: ${problems.length} setting${many ? 's are' : ' is'} wrong.\n  ${problems.join('\n  ')}`);
  }
}

/** Every variable that is read, for the test that compares them with .env.example. */
export function variableNames(): string[] {
  const overlays = PIPELINE_NAMES.flatMap((name) => Object.keys(overlay.shape).map((key) => `${prefixOf(name)}${key}`));
  return [...Object.keys(settings.shape), ...overlays];
}

/** Throws one ConfigError that names every wrong variable and what was expected. */
export function loadConfig(environment: Environment = readEnvironment()): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const main = settings.safeParse(given);
  const overlays = PIPELINE_NAMES.map((name) => [name, overlay.safeParse(withoutPrefix(name, given))] as const);
  const problems = [
    ...problemsIn(main.error, given, ''),
    ...overlays.flatMap(([name, { error }]) => problemsIn(error, given, prefixOf(name))),
    ...(main.success ? contradictionsIn(main.data) : []),
  ];
  if (problems.length > 0 || !main.success) throw new ConfigError(problems);
  const thresholds = Object.fromEntries(overlays.map(([name, { data = {} }]) => [name, overlayOf(data)]));
  return configOf(main.data, thresholds, projectRoot);
}

/** What a child process gets: our own environment, .env included, and what it is told besides. */
export function childEnvironment(told: Environment): Record<string, string> {
  const all = Object.entries({ ...readEnvironment(), ...told });
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Whether npm started us, through a shell that dies with it and tells us nothing. */
export function isBelowNpm(): boolean {
  return process.env['npm_lifecycle_event'] !== undefined;
}

/** The environment wins over the file, as with `node --env-file`. */
function readEnvironment(): Environment {
  const file = resolve(projectRoot, '.env');
  return existsSync(file) ? { ...parseEnv(readFileSync(file, 'utf8')), ...process.env } : process.env;
}

function problemsIn(error: z.ZodError | undefined, given: Environment, prefix: string): string[] {
  return (error?.issues ?? []).map(({ path, message }) => {
    const name = `${prefix}${String(path[0])}`;
    return `${name}: expected ${message}${SECRETS.has(name) ? '' : `, got '${given[name]}'`}`;
  });
}
