import { z } from 'zod';
import { isEnd } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { readFigures } from '../../db/figures.js';
import { showFigures } from '../../telemetry/metrics.js';
import type { Access } from '../access.js';
import type { ApiDeps, App } from '../app.js';
import { problems } from '../problem.js';

type Deps = Pick<ApiDeps, 'prisma' | 'metrics' | 'pipelines'>;

/** `access` is open only where the port is the scraper's own. */
export function addMetricsRoute(app: App, deps: Deps, access: Access = ['viewer', 'admin']): void {
  const liveStates = Object.values(deps.pipelines).flatMap(liveStatesOf);
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
      const figures = await readFigures(deps.prisma).catch((error: unknown) => {
        request.log.warn({ err: error }, 'figures could not be read');
        return null;
      });
      showFigures(deps.metrics, figures, liveStates);
      const { registry } = deps.metrics;
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}

function liveStatesOf(pipeline: Pipeline): { pipeline: string; state: string }[] {
  return Object.entries(pipeline.states)
    .filter(([, row]) => !isEnd(row))
    .map(([state]) => ({ pipeline: pipeline.name, state }));
}
