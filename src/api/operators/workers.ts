import { z } from 'zod';
import { WORKER_SILENT_SECONDS } from '../../core/worker-silence.js';
import { type ListedWorker, listWorkers, WORKER_STATES } from '../../db/reads/worker-list.js';
import type { ApiDeps, App } from '../parts.js';
import { giveUpAfter } from '../items/engine-health.js';
import { OPERATORS } from '../http/permissions.js';
import { problems } from '../http/problem.js';

const Time = z.iso.datetime();

const Worker = z.object({
  id: z.string(),
  name: z.string(),
  host: z.string(),
  pid: z.int(),
  build: z.string(),
  pipelines: z.array(z.string()),
  state: z
    .enum(WORKER_STATES)
    .describe(
      `silent: not seen for ${WORKER_SILENT_SECONDS} s, and nobody saw it die; a silent worker that holds its lock is frozen or cut off`,
    ),
  startedAt: Time,
  seenAt: Time.describe('When it last said that it is there, as it does every five seconds'),
  stoppedAt: Time.nullable().describe('When it signed off'),
  diedAt: Time.nullable().describe('When it was seen to be gone without having signed off'),
  holdsLock: z.boolean().describe('Its process holds the session lock that says it lives'),
  runningTasks: z.int(),
});

const TaskQueue = z.object({
  name: z.string(),
  pollers: z
    .array(z.object({ identity: z.string(), seenAt: Time }))
    .nullable()
    .describe('The workers that asked it for work in the last minutes; null: Temporal does not answer'),
  backlog: z.int().nullable().describe('Tasks that wait for a worker, about; null: not known'),
  oldestMs: z.number().nullable().describe('How long the oldest of them has waited; null: not known'),
  builds: z
    .array(z.string())
    .describe('Versions of the present workers that serve it; the API itself serves sweeps and jobs'),
});

const Workers = z.object({
  workers: z.array(Worker).describe('Latest first; the workers of the last 24 hours, 500 at most'),
  queues: z.array(TaskQueue).describe('Of pipelines, of sweeps (maintenance) and of jobs'),
  degraded: z.boolean().describe('Temporal does not answer, and the fields that only it knows are null'),
});
type TaskQueue = z.output<typeof TaskQueue>;

/** An operator's page does not wait for an engine that does not answer. */
const PATIENCE_MS = 2_000;

type Deps = Pick<ApiDeps, 'prisma' | 'engine' | 'pipelines' | 'engineQueues'>;

export function addWorkerRoutes(app: App, deps: Deps): void {
  app.get(
    '/api/v1/workers',
    {
      config: { access: OPERATORS },
      schema: {
        tags: ['operation'],
        summary: 'Worker processes, and the task queues they serve',
        response: { 200: Workers, ...problems() },
      },
    },
    async () => {
      const workers = await listWorkers(deps.prisma);
      const names = [...Object.keys(deps.pipelines), ...deps.engineQueues];
      const queues = await Promise.all(names.map((name) => queueOf(deps, name, workers)));
      return { workers: workers.map(answerOf), queues, degraded: queues.some(({ pollers }) => pollers === null) };
    },
  );
}

async function queueOf({ engine }: Deps, name: string, workers: ListedWorker[]): Promise<TaskQueue> {
  const status = await giveUpAfter(PATIENCE_MS, engine.queue(name)).catch(() => null);
  const serving = workers.filter(({ state, pipelines }) => state === 'present' && pipelines.includes(name));
  return {
    name,
    pollers: status && status.pollers.map(({ identity, seenAt }) => ({ identity, seenAt: seenAt.toISOString() })),
    backlog: status && status.backlog,
    oldestMs: status && status.oldestMs,
    builds: [...new Set(serving.map(({ build }) => build))].sort(),
  };
}

function answerOf(worker: ListedWorker): z.output<typeof Worker> {
  return {
    ...worker,
    startedAt: worker.startedAt.toISOString(),
    seenAt: worker.seenAt.toISOString(),
    stoppedAt: worker.stoppedAt?.toISOString() ?? null,
    diedAt: worker.diedAt?.toISOString() ?? null,
  };
}
