import type { ApiDeps } from '../../api/parts.js';
import { type Config, readConfig, type SettingsParts, variableNamesOf } from '../../config.js';
import { JOBS_QUEUE, jobQueueOf } from '../../core/jobs.js';
import { MAINTENANCE_QUEUE } from '../../core/schedules.js';
import { DOMAINS } from '../../domains/domains.js';
import type { WriteLetter } from '../../ports/notifier.js';
import type { Check } from '../doctor/check.js';
import { assertNamesDiffer } from './assert-names-differ.js';
import { followsOf, settingsOf, type StageParts, type StagesByPipeline } from './domain.js';

/** The settings that the domains declare. */
function collectSettingsParts(): SettingsParts {
  return Object.fromEntries(DOMAINS.flatMap(({ name, settings }) => (settings ? [[name, settings]] : [])));
}

/** Every variable that this program reads. */
export function listVariableNames(): string[] {
  return variableNamesOf(collectSettingsParts());
}

/** The configuration of this process, with the settings of every domain. Refuses domains whose parts have one name. */
export function loadConfig(environment?: Readonly<Record<string, string | undefined>>): Config {
  assertNamesDiffer(DOMAINS);
  return readConfig(collectSettingsParts(), environment);
}

/** The pipelines that have stages, so that a worker can walk their items. */
export function listWorkedPipelines(): string[] {
  return DOMAINS.filter(({ stages }) => stages !== undefined).flatMap(({ tables }) => tables.map(({ name }) => name));
}

/** Builds the stages of the wanted pipelines; a domain without a wanted pipeline is not asked. */
export async function createStages(
  config: Config,
  parts: StageParts,
  wanted: readonly string[],
): Promise<StagesByPipeline> {
  const asked = DOMAINS.filter(({ tables }) => tables.some(({ name }) => wanted.includes(name)));
  const built = await Promise.all(asked.map(async (domain) => domain.stages?.(parts, settingsOf(config, domain))));
  return Object.assign({}, ...built) as StagesByPipeline;
}

type DomainApi = Pick<
  ApiDeps,
  'decisionSaves' | 'domainRoutes' | 'follows' | 'remarks' | 'engineQueues' | 'metricParts'
>;

/** The parts that the domains add to the API. */
export function buildDomainApi(config: Config): DomainApi {
  return {
    decisionSaves: Object.assign({}, ...DOMAINS.map(({ decisions }) => decisions)) as DomainApi['decisionSaves'],
    domainRoutes: DOMAINS.map((domain) => (app, parts) => domain.routes?.(app, parts, settingsOf(config, domain))),
    follows: DOMAINS.flatMap((domain) => followsOf(config, domain)),
    remarks: DOMAINS.flatMap((domain) => domain.remarks?.(settingsOf(config, domain)) ?? []),
    metricParts: DOMAINS.flatMap(({ metrics = [] }) => metrics),
    engineQueues: [
      MAINTENANCE_QUEUE,
      ...new Set([JOBS_QUEUE, ...DOMAINS.flatMap(({ jobs = [] }) => jobs.map(jobQueueOf))]),
    ],
  };
}

export function lettersOf({ links }: Pick<Config, 'links'>): Readonly<Record<string, WriteLetter>> {
  return Object.assign({}, ...DOMAINS.map((domain) => domain.letters?.({ links }))) as Record<string, WriteLetter>;
}

export function listDomainChecks(): Check[] {
  return DOMAINS.flatMap(({ checks = [] }) => checks);
}

/** The variables that the processes of `npm start` are told besides the servers' addresses. */
export function childVariablesOf(config: Config): Record<string, string> {
  return Object.assign({}, ...DOMAINS.map((domain) => domain.settings?.toldBy(settingsOf(config, domain)))) as Record<
    string,
    string
  >;
}
