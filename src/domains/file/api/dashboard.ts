import { z } from 'zod';
import { callerOf } from '../../../api/http/access.js';
import { problems } from '../../../api/http/problem.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import type { ApiParts, App } from '../../../api/parts.js';
import type { Pipeline } from '../../../core/pipeline.js';
import { type FileFigures, readFileFigures, readStamp } from '../db/dashboard.js';
import { askedOwner, OwnerQuery } from './asked-owner.js';
import type { FigureCache } from './figure-cache.js';

const Count = z.int().min(0);

const Dashboard = z.object({
  statusDistribution: z.record(z.string(), Count).describe('Files by state; every state of the pipeline is there'),
  activeBatches: Count,
  dlqDepth: Count.describe('Failed files, and files that are parked until a person drives them on'),
  stuckFiles: Count,
  queueDepths: z
    .object({ 'file-extract': Count, 'file-chunk': Count, 'file-embed': Count })
    .describe('Files that wait for the stage or are in it'),
  recentErrors: z
    .array(z.object({ fileId: z.uuid(), fileName: z.string(), error: z.string(), timestamp: z.iso.datetime() }))
    .max(10)
    .describe('Of the files that failed last, the newest first'),
  metrics: z.object({
    averageProcessingTime: z
      .int()
      .nullable()
      .describe('Milliseconds from confirmation to readiness, over the last 100 ready files; null: none is ready'),
    throughput24h: Count.describe('Files that became ready in 24 hours'),
    failureRate24h: z
      .number()
      .min(0)
      .max(100)
      .nullable()
      .describe('Percent of the files that ended in 24 hours; null: none has ended'),
  }),
});
type Dashboard = z.output<typeof Dashboard>;

function dashboardOf(pipeline: Pipeline, figures: FileFigures): Dashboard {
  const { states, parked, stuck, activeBatches, averageMs, ready24h, failed24h } = figures;
  const countOf = (...names: string[]): number => names.reduce((sum, name) => sum + (states[name] ?? 0), 0);
  const ended24h = ready24h + failed24h;
  return {
    statusDistribution: Object.fromEntries(Object.keys(pipeline.states).map((state) => [state, countOf(state)])),
    activeBatches,
    dlqDepth: countOf('failed') + parked,
    stuckFiles: stuck,
    queueDepths: {
      'file-extract': countOf('queued', 'extracting'),
      'file-chunk': countOf('chunking'),
      'file-embed': countOf('embedding'),
    },
    recentErrors: figures.recentErrors.map((each) => ({ ...each, timestamp: new Date(each.timestamp).toISOString() })),
    metrics: {
      averageProcessingTime: averageMs === null ? null : Math.round(averageMs),
      throughput24h: ready24h,
      failureRate24h: ended24h === 0 ? null : Number(((failed24h / ended24h) * 100).toFixed(2)),
    },
  };
}

type Deps = Pick<ApiParts, 'pool' | 'pipelines'> & { cache: FigureCache<FileFigures> };

export function addDashboardRoute(app: App, deps: Deps): void {
  app.get(
    '/api/v2/uploads/dashboard',
    {
      schema: {
        tags: ['uploads'],
        summary: 'The figures of the caller’s files',
        description: 'Kept for DASHBOARD_CACHE_TTL seconds, or until one of the files moves.',
        querystring: OwnerQuery,
        response: { 200: Dashboard, ...problems(409) },
      },
    },
    async (request) => {
      const { pool, cache } = deps;
      const owner = askedOwner(callerOf(request), request.query.owner, ['admin', 'viewer']);
      const pipeline = pipelineOf(deps, 'file');
      const figures = await cache.find(owner, {
        figures: () => readFileFigures(pool, pipeline, owner),
        stamp: async () => (owner === null ? '' : readStamp(pool, pipeline, owner)),
      });
      return dashboardOf(pipeline, figures);
    },
  );
}
