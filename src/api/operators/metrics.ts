import { z } from 'zod';
import { isEnd, stagesIn } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { QueueFigures } from '../../core/recovery-figures.js';
import { intervalMsOf, type ScheduleRow } from '../../core/schedules.js';
import { readFigures } from '../../db/reads/figures.js';
import { readRecoveryFigures } from '../../db/reads/recovery-figures.js';
import { showFigures } from '../../telemetry/metrics.js';
import { type Declared, showQueues, showRecovery } from '../../telemetry/show-recovery.js';
import type { Access } from '../http/access.js';
import type { ApiDeps, App } from '../parts.js';
import { lookAtQueue } from '../items/ask-engine.js';
import { createEngineHealth } from '../items/engine-health.js';
import { problems } from '../http/problem.js';

export type MetricsDeps = 'pool' | 'prisma' | 'engine' | 'schedules' | 'metrics' | 'pipelines' | 'engineQueues';
type Deps = Pick<ApiDeps, MetricsDeps>;

/** `access` is open only where the port is the scraper's own. */
export function addMetricsRoute(app: App, deps: Deps, access: Access = ['viewer', 'admin']): void {
  const { metrics, pipelines } = deps;
  const liveStates = Object.values(pipelines).flatMap(liveStatesOf);
  const declared = { stages: Object.values(pipelines).flatMap(stagesOf), sweeps: deps.schedules.rows.flatMap(sweepOf) };
  const engineHealth = createEngineHealth(deps.engine);
  app.get(
    '/metrics',
    {
      config: { access },
      schema: {
        tags: ['operation'],
        summary: 'Metrics for Prometheus',
        response: {
          200: { description: 'Prometheus text format', content: { 'text/plain': { schema: z.string() } } },
          ...problems(),
        },
      },
    },
    async (request, reply) => {
      const unlessUnreadable = <T>(figures: Promise<T>): Promise<T | null> =>
        figures.catch((error: unknown) => {
          request.log.warn({ err: error }, 'figures could not be read');
          return null;
        });
      const [figures, recovery, isThere, queues] = await Promise.all([
        unlessUnreadable(readFigures(deps.prisma)),
        unlessUnreadable(readRecoveryFigures(deps.pool, pipelines, deps.schedules.rows)),
        engineHealth.isThere(),
        readQueues(deps),
      ]);
      showFigures(metrics, figures, liveStates);
      showRecovery(metrics, recovery, declared);
      showQueues(metrics, isThere, queues);
      const { registry } = metrics;
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}

function liveStatesOf(pipeline: Pipeline): { pipeline: string; state: string }[] {
  return Object.entries(pipeline.states)
    .filter(([, row]) => !isEnd(row))
    .map(([state]) => ({ pipeline: pipeline.name, state }));
}

function stagesOf(pipeline: Pipeline): { pipeline: string; stage: string }[] {
  return Object.values(pipeline.states).flatMap((row) =>
    stagesIn(row).map(({ stage }) => ({ pipeline: pipeline.name, stage })),
  );
}

/** A sweep that is switched off is not missed. */
function sweepOf({ sweeps, isOn, when }: ScheduleRow): Declared['sweeps'] {
  return sweeps === null || !isOn ? [] : [{ pipeline: sweeps, everySeconds: intervalMsOf(when) / 1_000 }];
}

/** The database says which pollers live, so a queue is unknown without Temporal or without the database. */
async function readQueues(deps: Deps): Promise<QueueFigures[]> {
  return Promise.all(
    [...Object.keys(deps.pipelines), ...deps.engineQueues].map(async (queue) => ({
      queue,
      ...(await lookAtQueue(deps, queue).catch(() => ({}))),
    })),
  );
}
