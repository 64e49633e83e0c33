import type { ApiParts, App, FollowPart } from '../../api/parts.js';
import type { LinkSettings } from '../../api/items/status-links.js';
import type { Config } from '../../config.js';
import type { SettingsPart } from '../../config/settings-part.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { WriteLetter } from '../../ports/notifier.js';
import type { AnyDecisionSaves } from '../../ports/decision.js';
import type { OpenBlobStore } from '../../ports/blob-store.js';
import type { JobPart, RetentionPart } from '../../ports/job.js';
import type { MetricPart } from '../../ports/metric.js';
import type { Sql } from '../../ports/sql.js';
import type { AnyStage } from '../../ports/stage.js';
import type { Check } from '../doctor/check.js';

/** The parts that a worker process gives a domain to build its stages from. */
export interface StageParts {
  /** For reading alone, because a stage writes by its save. It waits for a database that is away. */
  reads: Sql;
  blobs: OpenBlobStore;
}

/** By pipeline, then by stage. */
export type StagesByPipeline = Readonly<Record<string, Readonly<Record<string, AnyStage>>>>;

/** The parts that the courier's process gives a domain to word its letters with. */
export interface LetterParts {
  links: LinkSettings;
}

/** An event stream whose snapshot may depend on the domain's settings. */
export type DomainFollow<Settings = unknown> = Omit<FollowPart, 'snapshotFor'> & {
  snapshotFor?(settings: Settings): NonNullable<FollowPart['snapshotFor']>;
};

/** A domain's manifest: everything that the processes need to know of it. Each part has one consumer, named behind it. A manifest
 *  imports nothing heavy, because each process of an isolated stage loads all manifests: stages, routes, adapters and commands are
 *  imported when they are asked for. */
export interface Domain<Settings = unknown> {
  name: string;
  tables: readonly Pipeline[];
  /** Words that only this domain may use; test/engine-words.test.ts searches the engine for them. */
  words: readonly string[];
  /** → config */
  settings?: SettingsPart<Settings>;
  /** → worker */
  stages?(parts: StageParts, settings: Settings): Promise<StagesByPipeline> | StagesByPipeline;
  /** The effects of decisions besides their moves, by pipeline. → api/items/decide */
  decisions?: Readonly<Record<string, AnyDecisionSaves>>;
  /** → api/app */
  routes?(app: App, parts: ApiParts, settings: Settings): Promise<void>;
  /** → api/items/events */
  follows?: readonly DomainFollow<Settings>[];
  /** Work that a schedule or an operator starts. → schedules and run-job, by start/parts/jobs */
  jobs?: readonly JobPart<Settings>[];
  /** Rows that are deleted once they are old enough. → the job `retention` */
  keeps?: readonly RetentionPart<Settings>[];
  /** The words for the end of an item, by pipeline. → loops/courier */
  letters?(parts: LetterParts): Readonly<Record<string, WriteLetter>>;
  /** Sentences about these settings that operators should know; they change no status. → api/operators/health */
  remarks?(settings: Settings): readonly string[];
  /** → /metrics, by api/operators/metrics */
  metrics?: readonly MetricPart[];
  /** → doctor */
  checks?: readonly Check[];
  /** Programs for a person at a terminal; importing a program runs it. → start/do */
  commands?: Readonly<Record<string, () => Promise<unknown>>>;
}

/** The settings of a domain in the configuration, with their type. */
export function settingsOf<Settings>(
  config: Config,
  { name, settings }: Pick<Domain<Settings>, 'name' | 'settings'>,
): Settings {
  if (settings !== undefined && !(name in config.domains))
    throw new Error(`the configuration was read without ${name}`);
  return config.domains[name] as Settings;
}

/** The event streams of a domain, with its settings. */
export function followsOf<Settings>(
  config: Config,
  domain: Pick<Domain<Settings>, 'name' | 'settings' | 'follows'>,
): FollowPart[] {
  return (domain.follows ?? []).map(({ snapshotFor, ...part }) =>
    snapshotFor ? { ...part, snapshotFor: snapshotFor(settingsOf(config, domain)) } : part,
  );
}
