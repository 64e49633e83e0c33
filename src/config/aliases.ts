import type { Alias, SettingsPart } from './settings-part.js';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Renamed {
  /** The environment with the pipelines' own names. */
  given: Environment;
  problems: string[];
  /** A problem under the names that were set. */
  tell(problem: string): string;
}

/** Replaces other names of pipelines' variables by the names that the rest of the configuration knows. */
export function renameAliases(parts: readonly SettingsPart[], given: Environment): Renamed {
  const set = Object.entries(aliasesOf(parts)).filter(([name]) => given[name] !== undefined);
  const own: Record<string, string> = {};
  const problems: string[] = [];
  for (const [name, { of, value }] of set) {
    const parsed = value.safeParse(given[name]);
    if (given[of] !== undefined) problems.push(`${name}: expected without ${of}, which sets the same, got both`);
    else if (parsed.success) own[of] = parsed.data;
    else problems.push(`${name}: expected ${parsed.error.issues[0]?.message ?? 'another value'}, got '${given[name]}'`);
  }
  const tell = (problem: string): string =>
    set.reduce((told, [name, { of }]) => (of in own ? told.replaceAll(of, name) : told), problem);
  return { given: { ...given, ...own }, problems, tell };
}

function aliasesOf(parts: readonly SettingsPart[]): Record<string, Alias> {
  return Object.assign({}, ...parts.map(({ aliases }) => aliases)) as Record<string, Alias>;
}
