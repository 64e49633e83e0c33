import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { renameAliases } from './config/aliases.js';
import { type Config, configOf } from './config/config-of.js';
import { contradictionsIn } from './config/contradictions.js';
import { overlaidTable, overlayProblemsIn } from './config/overlaid-table.js';
import {
  overlayOf,
  overlayShapeOf,
  PIPELINE_NAMES,
  PIPELINES,
  prefixOf,
  withoutPrefix,
} from './config/pipeline-overlay.js';
import { ENGINE_SECRETS, engineSettings } from './config/settings.js';
import type { SettingsPart } from './config/settings-part.js';

export type { Config } from './config/config-of.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The same from src/ and from dist/. */
export const projectRoot = resolve(import.meta.dirname, '..');

/** The version that runs, as operators see it beside each worker. */
export function readVersion(): string {
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

/** The parts of the domains that have settings, by the domain's name. */
export type SettingsParts = Readonly<Record<string, SettingsPart>>;

/** Every variable that the program reads. A test compares these names with .env.example. */
export function variableNamesOf(parts: SettingsParts): string[] {
  const overlays = PIPELINE_NAMES.flatMap((name) =>
    Object.keys(overlayShapeOf(name).shape).map((key) => `${prefixOf(name)}${key}`),
  );
  const aliases = Object.values(parts).flatMap((part) => Object.keys(part.aliases));
  return [...Object.keys(settingsWith(parts).shape), ...overlays, ...aliases];
}

/** Throws one ConfigError that names every wrong variable and what was expected. */
export function readConfig(parts: SettingsParts, environment: Environment = readEnvironment()): Config {
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const { given, problems: misnamed, tell } = renameAliases(Object.values(parts), set);
  const main = settingsWith(parts).safeParse(given);
  const overlays = PIPELINE_NAMES.map(
    (name) => [name, overlayShapeOf(name).safeParse(withoutPrefix(name, given))] as const,
  );
  const pipelines = Object.fromEntries(overlays.map(([name, { data = {} }]) => [name, overlayOf(data)]));
  const tables = Object.entries(PIPELINES).map(
    ([name, table]) => [name, overlaidTable(table, pipelines[name])] as const,
  );
  const secrets = new Set([...ENGINE_SECRETS, ...Object.values(parts).flatMap((part) => part.secrets)]);
  const problems = [
    ...misnamed,
    ...problemsIn(main.error, given, { prefix: '', secrets }),
    ...overlays.flatMap(([name, { error }]) => problemsIn(error, given, { prefix: prefixOf(name), secrets })),
    ...overlays.flatMap(([name, { data = {} }]) => contradictionsOf(name, data, given)),
    ...(main.success ? contradictionsIn(main.data) : []),
    ...(main.success
      ? Object.values(parts).flatMap((part) => part.problemsIn(main.data, Object.fromEntries(tables)))
      : []),
  ];
  if (problems.length > 0 || !main.success) throw new ConfigError(problems.map(tell));
  const domains = Object.fromEntries(
    Object.entries(parts).map(([name, part]) => [name, part.settingsOf(main.data, projectRoot)]),
  );
  return configOf(main.data, { pipelines, domains, projectRoot });
}

function contradictionsOf(name: string, data: Parameters<typeof overlayOf>[0], given: Environment): string[] {
  const table = PIPELINES[name];
  return table ? overlayProblemsIn(table, data, withoutPrefix(name, given)) : [];
}

/** The engine's variables and those of the domains, of which no two may have the same name. */
function settingsWith(parts: SettingsParts) {
  const names = [engineSettings.shape, ...Object.values(parts).map(({ shape }) => shape)].flatMap((each) =>
    Object.keys(each),
  );
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`two parts of the configuration declare ${twice}`);
  return engineSettings.extend(Object.assign({}, ...Object.values(parts).map(({ shape }) => shape)) as object);
}

/** The environment of a child process: our own environment, with .env, and the variables in `told`. */
export function childEnvironment(told: Environment): Record<string, string> {
  const all = Object.entries({ ...readEnvironment(), ...told });
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Whether npm started this process. npm starts it through a shell, which dies with npm and does not tell us. */
export function isBelowNpm(): boolean {
  return process.env['npm_lifecycle_event'] !== undefined;
}

/** The environment wins over the file, as with `node --env-file`. */
function readEnvironment(): Environment {
  const file = resolve(projectRoot, '.env');
  return existsSync(file) ? { ...parseEnv(readFileSync(file, 'utf8')), ...process.env } : process.env;
}

interface Shown {
  prefix: string;
  /** Variables whose values are never printed. */
  secrets: ReadonlySet<string>;
}

function problemsIn(error: z.ZodError | undefined, given: Environment, { prefix, secrets }: Shown): string[] {
  return (error?.issues ?? []).map(({ path, message }) => {
    const name = `${prefix}${String(path[0])}`;
    return `${name}: expected ${message}${secrets.has(name) ? '' : `, got '${given[name]}'`}`;
  });
}
