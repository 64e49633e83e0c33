import { copyProblem, foreignProblem, nameProblem, namesText } from '../../core/installation.js';
import { findIdentity, readPlace } from '../../db/postgres/installation.js';
import { DESCRIBE_LIMIT_MS } from '../../temporal/schedules.js';
import { findForeignSchedule } from '../../temporal/find-foreign-schedule.js';
import { scheduleRowsOf } from '../parts/schedule-rows.js';
import { type Check, type Finding, type Patient, reportOk, reportProblem, reportWarning } from './check.js';

export const installationChecks: readonly Check[] = [
  { name: 'installation', needs: 'migrations', run: checkIdentity },
  { name: 'namespace', needs: 'temporal', limitMs: DESCRIBE_LIMIT_MS, run: checkNames },
];

const NO_IDENTITY = reportWarning('No process has started with this database yet.', 'Start the API and a worker.');

/** The sentences of the refusals hold their remedy. */
const REMEDY = 'No process starts before this is settled; docs/operations.md, "More than one installation", says more.';

async function checkIdentity({ config, pool }: Patient): Promise<Finding> {
  const identity = pool && (await findIdentity(pool));
  if (!identity) return NO_IDENTITY;
  const problem = copyProblem(identity, await readPlace(pool)) ?? nameProblem(identity, config.installation);
  if (problem !== null) return reportProblem(sentenceOf(problem), REMEDY);
  return reportOk(`This database is installation ${identity.id}, ${namesText(identity)}.`);
}

async function checkNames({ config, installation, pool, temporal }: Patient): Promise<Finding> {
  // If the database has a problem, the other checks say which.
  const identity = await (pool && findIdentity(pool).catch(() => null));
  if (!identity) {
    return reportWarning('Not checked, because the installation of this database is not known.', 'Solve that first.');
  }
  const { installation: name } = config;
  const { namespace } = installation.temporal;
  const schedules = scheduleRowsOf(config).map((row) => row.id);
  const foreign = await findForeignSchedule(temporal, schedules, { id: identity.id, name });
  if (foreign) {
    return reportProblem(sentenceOf(foreignProblem(foreign, { id: identity.id, name, namespace })), REMEDY);
  }
  return reportOk(`No other installation uses our names in the namespace '${namespace}'.`);
}

function sentenceOf(problem: string): string {
  return `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`;
}
