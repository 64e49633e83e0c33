import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isGrpcServiceError } from '@temporalio/client';
import proto from '@temporalio/proto';
import { giveUpAfter } from '../../api/items/engine-health.js';
import { countLivingPollers } from '../../core/living-pollers.js';
import { messageOf } from '../../core/errors.js';
import { nameIn } from '../../core/installation.js';
import { findPresence } from '../../db/recovery/queue-facts.js';
import { PIPELINES } from '../../domains/tables.js';
import { measureTurns } from '../../temporal/measure-turns.js';
import { createTemporalSchedules, DESCRIBE_LIMIT_MS } from '../../temporal/schedules.js';
import { hasSearchAttribute, PIPELINE_ATTRIBUTE } from '../../temporal/search-attributes.js';
import { taskQueueOf } from '../../temporal/task-queues.js';
import { scheduleRowsOf } from '../parts/schedule-rows.js';
import { type Check, type Finding, type Patient, reportOk, reportProblem, reportWarning } from './check.js';
import { clockFinding } from './clock.js';
import { checkTimers } from './timers.js';

const TEMPORAL = 'temporal';
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

/** Shorter than the limit of a check, so that this check words the finding. */
const ANSWER_WITHIN_MS = 4_000;

/** The measurement takes two seconds, and more on a busy server. */
const MEASURED_WITHIN_MS = 15_000;

const QUEUE_TYPE = proto.temporal.api.enums.v1.TaskQueueType;
const KINDS = { workflow: QUEUE_TYPE.TASK_QUEUE_TYPE_WORKFLOW, activity: QUEUE_TYPE.TASK_QUEUE_TYPE_ACTIVITY } as const;

export const temporalChecks: readonly Check[] = [
  { name: TEMPORAL, run: checkReachable },
  { name: 'temporal clock', needs: TEMPORAL, run: checkClock },
  { name: 'temporal timers', needs: TEMPORAL, run: checkTimers },
  { name: 'search attribute', needs: TEMPORAL, run: checkSearchAttribute },
  { name: 'turns', needs: TEMPORAL, limitMs: MEASURED_WITHIN_MS, run: checkTurns },
  { name: 'schedules', needs: TEMPORAL, limitMs: DESCRIBE_LIMIT_MS, run: checkSchedules },
  ...Object.keys(PIPELINES).map((name): Check => ({
    name: `pipeline ${name}`,
    needs: TEMPORAL,
    run: (patient) => checkPolled(patient, name),
  })),
];

async function checkReachable({ config, installation, temporal }: Patient): Promise<Finding> {
  const { address, namespace } = installation.temporal;
  try {
    await giveUpAfter(ANSWER_WITHIN_MS, temporal.connection.workflowService.describeNamespace({ namespace }));
    return reportOk(`Temporal answers at ${address} and has the namespace '${namespace}'.`);
  } catch (error) {
    const code: number | undefined = isGrpcServiceError(error) ? error.code : undefined;
    if (code === NOT_FOUND) {
      return reportProblem(
        `The Temporal at ${address} has no namespace '${namespace}'.`,
        `Create it (temporal operator namespace create ${namespace}), or correct TEMPORAL_NAMESPACE.`,
      );
    }
    if (code === UNAUTHENTICATED || code === PERMISSION_DENIED) {
      return reportProblem(
        `The Temporal at ${address} refuses us.`,
        'Correct TEMPORAL_API_KEY, TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_NAMESPACE.',
      );
    }
    const start =
      config.temporal.address === undefined ? 'Start it with npm start.' : 'Start it, or correct TEMPORAL_ADDRESS.';
    return reportProblem(
      `Temporal does not answer at ${address}.`,
      `${start} TEMPORAL_TLS and TEMPORAL_TLS_… say how it expects TLS.`,
    );
  }
}

/** The server tells its time only by when it was polled, so we poll a queue of our own for a moment. */
async function checkClock({ installation, temporal }: Patient): Promise<Finding> {
  const { namespace } = installation.temporal;
  const { connection } = temporal;
  const [identity, queue] = [`doctor-${randomUUID()}`, 'doctor-clock'];
  const over = new AbortController();
  const beforeMs = Date.now();
  const poll = () =>
    connection.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: queue }, identity });
  // The server takes no poll without a deadline.
  const polling = connection.withAbortSignal(over.signal, () =>
    connection.withDeadline(beforeMs + ANSWER_WITHIN_MS, poll),
  );
  polling.catch(() => undefined); // it is ended below, or the server does not let us poll, and then no poller is found
  try {
    while (Date.now() - beforeMs < ANSWER_WITHIN_MS) {
      const pollers = await pollersOf(temporal, namespace, queue, KINDS.workflow);
      const ours = pollers.find((poller) => poller.identity === identity);
      if (ours) return clockFinding('Temporal', { beforeMs, theirsMs: ours.seenAt.getTime(), afterMs: Date.now() });
      await pause(20);
    }
    return reportWarning('The clock of Temporal could not be read.', 'Compare it by hand, or see that NTP sets it.');
  } finally {
    over.abort();
  }
}

async function checkSearchAttribute({ temporal }: Patient): Promise<Finding> {
  const { name } = PIPELINE_ATTRIBUTE;
  if (await hasSearchAttribute(temporal)) return reportOk(`Runs can be searched by ${name}.`);
  return reportWarning(
    `The search attribute ${name} is missing; runs are started without it.`,
    `Create it: temporal operator search-attribute create --name ${name} --type Keyword.`,
  );
}

async function checkTurns({ config, temporal }: Patient): Promise<Finding> {
  const turns = await measureTurns(temporal, nameIn(config.installation, 'doctor-turns')).catch((error: unknown) => ({
    error,
  }));
  if (turns === 'turns') return reportOk('Temporal heeds priorities, and owners take turns where items wait.');
  if (turns === 'unknown' || typeof turns === 'object') {
    const why = typeof turns === 'object' ? ` (${messageOf(turns.error)})` : '';
    return reportWarning(
      `Whether Temporal heeds priorities and turns could not be measured${why}.`,
      'Look whether its setting matching.enableFairness is true.',
    );
  }
  const lacks = turns === 'levels' ? 'turns between owners' : 'priorities and turns between owners';
  return reportWarning(
    `Temporal knows no ${lacks}: one owner's many items stand before all others.`,
    'Set matching.enableFairness to true in its dynamic configuration, then run npm run installation -- renew-queues.',
  );
}

async function checkSchedules({ config, temporal }: Patient): Promise<Finding> {
  const rows = scheduleRowsOf(config).filter(({ isOn }) => isOn);
  const membership = { name: config.installation, id: () => undefined };
  const schedules = createTemporalSchedules(temporal, rows, membership);
  const found = await Promise.all(rows.map(async ({ id }) => ({ id, status: await schedules.find(id) })));
  const missing = found.filter(({ status }) => status === null).map(({ id }) => id);
  const paused = found.filter(({ status }) => status?.paused).map(({ id }) => id);
  if (missing.length > 0) {
    return reportProblem(
      `Temporal has no schedule ${missing.join(', ')}; nobody sweeps or cleans up.`,
      'Start the API, which makes them, and see in its log why it could not.',
    );
  }
  if (paused.length > 0) {
    return reportWarning(
      `Paused: ${paused.join(', ')}.`,
      'Resume with POST /api/v1/schedules/<id>/resume when it is time.',
    );
  }
  return reportOk(`${found.length} schedules are there: ${found.map(({ id }) => id).join(', ')}.`);
}

async function checkPolled({ config, installation, pool, temporal }: Patient, pipeline: string): Promise<Finding> {
  const { namespace } = installation.temporal;
  const queue = nameIn(config.installation, taskQueueOf(pipeline));
  const polled = await Promise.all(
    Object.entries(KINDS).map(async ([kind, type]) => {
      const pollers = await pollersOf(temporal, namespace, queue, type);
      const ids = pollers.map(({ identity }) => identity);
      const registered = pool ? await findPresence(pool, ids) : new Map<string, { isPresent: boolean }>();
      return { kind, count: countLivingPollers(pollers, registered, new Date()) };
    }),
  );
  const missing = polled.filter(({ count }) => count === 0).map(({ kind }) => kind);
  if (missing.length === 0)
    return reportOk(
      `${polled.map(({ count }) => count).join(' and ')} workers poll for its workflow and activity tasks.`,
    );
  return reportProblem(
    `Nobody polls for the ${missing.join(' and ')} tasks of '${queue}'; what is submitted waits.`,
    `Start a worker that serves it: npm run worker -- --pipelines ${pipeline}.`,
  );
}

interface Poller {
  identity: string;
  seenAt: Date;
}

async function pollersOf(
  { connection }: Patient['temporal'],
  namespace: string,
  name: string,
  taskQueueType: number,
): Promise<Poller[]> {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name },
    taskQueueType,
  });
  return (pollers ?? []).map(({ identity, lastAccessTime }) => ({
    identity: identity ?? '',
    seenAt: new Date(Number(lastAccessTime?.seconds ?? 0) * 1_000 + (lastAccessTime?.nanos ?? 0) / 1e6),
  }));
}
