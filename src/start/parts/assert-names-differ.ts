import { RETENTION_JOB } from '../../core/jobs.js';
import { sweepIdOf } from '../../core/schedules.js';
import { ENGINE_KEEPS } from '../../db/recovery/retention.js';
import type { Domain } from './domain.js';

type Named = Pick<Domain, 'tables' | 'jobs' | 'keeps' | 'follows' | 'metrics'>;

/** Refuses two jobs with one name, which would share a schedule, two parts of retention, which would share a count, two event
 *  streams with one path, and two metrics. A sweep is a schedule too. */
export function assertNamesDiffer(domains: readonly Named[]): void {
  const sweeps = domains.flatMap(({ tables }) => tables.map(({ name }) => sweepIdOf(name)));
  const jobs = domains.flatMap(({ jobs = [] }) => jobs.map(({ name }) => name));
  const keeps = domains.flatMap(({ keeps = [] }) => keeps.map(({ name }) => name));
  const follows = domains.flatMap(({ follows = [] }) => follows.map(({ kind }) => kind));
  const metrics = domains.flatMap(({ metrics = [] }) => metrics.map(({ name }) => name));
  const problems = [
    ...doubledIn('jobs', [...sweeps, RETENTION_JOB, ...jobs]),
    ...doubledIn('keeps', [...ENGINE_KEEPS.map(({ name }) => name), ...keeps]),
    ...doubledIn('follows', follows),
    ...doubledIn('metrics', metrics),
  ];
  if (problems.length > 0) throw new Error(problems.join('; '));
}

function doubledIn(part: string, names: readonly string[]): string[] {
  const doubled = names.filter((name, at) => names.indexOf(name) !== at);
  return [...new Set(doubled)].map((name) => `two ${part} are called '${name}': give one of them another name`);
}
