import { z } from 'zod';
import { callerOf } from '../../../api/http/access.js';
import { actorOf } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { textUpTo } from '../../../api/http/text-up-to.js';
import type { ApiParts, App } from '../../../api/parts.js';
import { recordOperatorAction } from '../../../db/spine/operator-actions.js';
import { blobPrefixOf } from '../db/blob-key.js';
import { readAbandoned } from '../db/dashboard.js';
import { findOrphanReport } from '../db/orphan-scans.js';
import { askedOwner, OwnerQuery } from './asked-owner.js';

const Answer = z.object({
  lastScanTime: z.iso.datetime().nullable().describe('When the last scan ended; null: there was none yet'),
  orphanBlobs: z
    .object({
      count: z.int().min(0),
      totalSize: z.int().min(0).describe('Bytes'),
      samples: z.array(z.string()).max(10).describe('The keys of the first'),
    })
    .nullable()
    .describe('As the last scan found them; null: there was none yet'),
  abandonedUploads: z.object({
    count: z.int().min(0),
    oldestAge: z.int().nullable().describe('Milliseconds; null: there is none'),
  }),
});

const ScanBody = z.strictObject({
  dryRun: z.boolean().default(true).describe('False: the orphan blobs that the scan finds are deleted'),
  reason: textUpTo(2_000).optional(),
});

const Scan = z.object({
  job: z.string(),
  runId: z.string(),
  joined: z.boolean().describe('A scan was under way, which this request has joined'),
});

type Deps = Pick<ApiParts, 'pool' | 'jobs'> & { cleanUp: { abandonedAfterMs: number } };

const TAGS = ['uploads'];

export function addOrphanRoutes(app: App, deps: Deps): void {
  const { pool, jobs, cleanUp } = deps;
  app.get(
    '/api/v2/uploads/orphans',
    {
      schema: {
        tags: TAGS,
        summary: 'Blobs that belong to no file, and uploads that never came',
        querystring: OwnerQuery,
        response: { 200: Answer, ...problems() },
      },
    },
    async (request) => {
      const owner = askedOwner(callerOf(request), request.query.owner, ['admin', 'viewer']);
      const [report, { count, oldestAgeMs }] = await Promise.all([
        findOrphanReport(pool, owner === null ? null : blobPrefixOf(owner)),
        readAbandoned(pool, owner, cleanUp.abandonedAfterMs),
      ]);
      return {
        lastScanTime: report?.endedAt.toISOString() ?? null,
        orphanBlobs: report && { count: report.count, totalSize: report.totalSize, samples: report.samples },
        abandonedUploads: { count, oldestAge: oldestAgeMs },
      };
    },
  );

  app.post(
    '/api/v2/uploads/orphans/scan',
    {
      config: { access: ['admin'] },
      schema: {
        tags: TAGS,
        summary: 'Look for orphan blobs now',
        description: 'The report is new when the scan has ended, which takes minutes with very many blobs.',
        body: ScanBody,
        response: { 202: Scan, ...problems(413, 415) },
      },
    },
    async (request, reply) => {
      const { dryRun, reason } = request.body;
      const actor = actorOf(callerOf(request));
      await recordOperatorAction(pool, {
        action: 'scan',
        target: 'job:orphan-cleanup',
        actor,
        reason,
        metadata: { dryRun },
      });
      // A scan that deletes does not join one that only looks.
      const key = dryRun ? 'look' : 'delete';
      const run = await jobs.start({ job: 'orphan-cleanup', key, input: { dryRun, scopes: ['orphanBlobs'] } });
      void reply.code(202);
      return { job: run.job, runId: run.runId, joined: run.joined };
    },
  );
}
