import { z } from 'zod';
import type { Figure } from '../../core/figures.js';
import { isEnd, stagesIn } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { QueueFigures } from '../../core/recovery-figures.js';
import { intervalMsOf, type ScheduleRow } from '../../core/schedules.js';
import { readFigures } from '../../db/reads/figures.js';
import { listTotalFigures, readFiguresAge } from '../../db/reads/figure-list.js';
import { createRecoveryReader } from '../../db/reads/recovery-figures.js';
import { showFigures } from '../../telemetry/metrics.js';
import { type Declared, showQueues, showRecovery } from '../../telemetry/show-recovery.js';
import { type Counted, showStages } from '../../telemetry/show-stages.js';
import type { Access } from '../http/access.js';
import type { ApiDeps, App } from '../parts.js';
import { lookAtQueue } from '../items/ask-engine.js';
import { createEngineHealth } from '../items/engine-health.js';
import { problems } from '../http/problem.js';

export type MetricsDeps =
  'pool' | 'prisma' | 'engine' | 'schedules' | 'metrics' | 'pipelines' | 'engineQueues' | 'metricParts';
type Deps = Pick<ApiDeps, MetricsDeps>;

/** `access` is open only where the port is the scraper's own. */
export function addMetricsRoute(app: App, deps: Deps, access: Access = ['viewer', 'admin']): void {
  const { metrics, pipelines } = deps;
  const liveStates = Object.values(pipelines).flatMap(liveStatesOf);
  const declared = { stages: Object.values(pipelines).flatMap(stagesOf), sweeps: deps.schedules.rows.flatMap(sweepOf) };
  const readRecovery = createRecoveryReader(deps.pool, pipelines, deps.schedules.rows);
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
      const [figures, recovery, counted, isThere, queues] = await Promise.all([
        unlessUnreadable(readFigures(deps.prisma)),
        unlessUnreadable(readRecovery()),
        unlessUnreadable(readCounted(deps)),
        engineHealth.isThere(),
        readQueues(deps),
      ]);
      showFigures(metrics, figures, liveStates);
      showRecovery(metrics, recovery, declared);
      showStages(metrics, counted);
      await showDomains(deps, counted?.totals ?? null, unlessUnreadable);
      showQueues(metrics, isThere, queues);
      const { registry } = metrics;
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}

async function readCounted({ pool, pipelines }: Deps): Promise<Counted> {
  const totals = await listTotalFigures(pool, Object.keys(pipelines));
  return { totals, ageSeconds: await readFiguresAge(pool) };
}

type UnlessUnreadable = <T>(figures: Promise<T>) => Promise<T | null>;

/** A metric that can't be read is left out and does not keep the others. */
async function showDomains(
  { pool, metrics, metricParts }: Deps,
  totals: readonly Figure[] | null,
  unlessUnreadable: UnlessUnreadable,
): Promise<void> {
  for (const part of metricParts) {
    const read = async () => part.read({ sql: pool, totals: totals ?? [] });
    const samples = totals && (await unlessUnreadable(read()));
    metrics.ofDomain(part).show(samples ?? []);
    if (samples === null) metrics.scrapeFailed.set(1);
  }
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
