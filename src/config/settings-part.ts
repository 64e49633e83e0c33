import type { z } from 'zod';
import type { Pipeline } from '../core/pipeline.js';
import type { EngineSettings } from './settings.js';

/** The pipelines' tables by name, with their settings laid over them. */
export type Tables = Readonly<Record<string, Pipeline>>;

type Shape = Record<string, z.ZodType>;

/** A variable that stands for a pipeline's own, under the name that its users know. */
export interface Alias {
  /** The pipeline's variable, with its prefix. */
  of: string;
  /** Its output is the text of the pipeline's variable. */
  value: z.ZodType<string>;
}

/** The variables of a domain as `config.ts` reads them: beside the engine's, with the same checks and in the same report. */
export interface SettingsPart<Settings = unknown> {
  /** By variable; an error's message says what was expected. */
  shape: Readonly<Shape>;
  /** Variables whose values are never printed. */
  secrets: readonly string[];
  /** Other names of the pipelines' variables. */
  aliases: Readonly<Record<string, Alias>>;
  /** Settings that are right one by one, and not together. */
  problemsIn(given: EngineSettings, tables: Tables): string[];
  /** The settings under the names that the domain has for them. */
  settingsOf(given: EngineSettings, projectRoot: string): Settings;
  /** Variables that `npm start` passes to its processes, because they depend on settings that differ there. */
  toldBy(settings: Settings): Record<string, string>;
}

interface Declared<S extends Shape, Settings> {
  shape: S;
  secrets?: readonly string[];
  aliases?: Readonly<Record<string, Alias>>;
  problemsIn?(given: Given<S>, tables: Tables): string[];
  settingsOf(given: Given<S>, projectRoot: string): Settings;
  toldBy?(settings: Settings): Record<string, string>;
}

/** The domain's variables together with the engine's. */
export type Given<S extends Shape> = EngineSettings & z.output<z.ZodObject<S>>;

/** Lets the compiler check the functions of a part against its own shape. */
export function defineSettings<const S extends Shape, Settings>(
  declared: Declared<S, Settings>,
): SettingsPart<Settings> {
  const { shape, secrets = [], aliases = {}, problemsIn, settingsOf, toldBy } = declared;
  return {
    shape,
    secrets,
    aliases,
    // `config.ts` has parsed the variables with this very shape.
    problemsIn: (given, tables) => problemsIn?.(given as Given<S>, tables) ?? [],
    settingsOf: (given, projectRoot) => settingsOf(given as Given<S>, projectRoot),
    toldBy: (settings) => toldBy?.(settings) ?? {},
  };
}
