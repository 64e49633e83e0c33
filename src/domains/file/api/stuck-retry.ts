import { z } from 'zod';
import { callerOf } from '../../../api/http/access.js';
import { actorOf, hasRole, WRITERS } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { textUpTo } from '../../../api/http/text-up-to.js';
import { pipelineOf, type ReaderDeps } from '../../../api/items/item-reader.js';
import { driveOn } from '../../../api/items/retry.js';
import type { App } from '../../../api/parts.js';
import { AppError } from '../../../core/errors.js';
import { findRetriedFile } from '../db/stuck-files.js';
import { askedOwner, OwnerQuery } from './asked-owner.js';
import { retryAllStuck } from './retry-all-stuck.js';

const TAGS = ['uploads'];

const Body = z.strictObject({ reason: textUpTo(2_000).optional() });

const Retried = z.object({
  success: z.literal(true),
  fileId: z.uuid(),
  previousStatus: z.string(),
  newStatus: z.literal('queued'),
  retryCount: z.int().min(1).describe('Counting this one'),
});

const RetriedAll = z.object({
  success: z.boolean().describe('False: `errors` says what could not be retried'),
  retriedCount: z.int().min(0),
  skippedCount: z.int().min(0).describe('Their retries are spent, or the last sweep found that they wait and live'),
  errors: z.array(z.object({ fileId: z.string(), error: z.string() })),
});

export function addStuckRetryRoutes(app: App, deps: ReaderDeps & { drop(owner: string): void }): void {
  app.post(
    '/api/v2/uploads/stuck/:fileId/retry',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Drive a stuck file on',
        description:
          'Refused with 409 and the diagnosis while the file lives, and with 400 when it has ended. It counts in the budget of rescues, and ' +
          'is allowed when that is spent.',
        params: z.object({ fileId: z.uuid() }),
        body: Body,
        response: { 200: Retried, ...problems(404, 409, 413, 415) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { fileId } = request.params;
      const owner = hasRole(caller, 'admin') ? null : caller.sub;
      const before = await findRetriedFile(deps.pool, { id: fileId, owner });
      if (!before) throw new AppError('not_found', `there is no file ${fileId}`);
      if (before.isFinal) {
        throw new AppError(
          'invalid_input',
          `file ${fileId} is ${before.state}, which is a final state: it is not stuck`,
        );
      }
      const { reason } = request.body;
      await driveOn(deps, request.log, { itemId: fileId, actor: actorOf(caller), reason });
      deps.drop(before.owner);
      const after = await findRetriedFile(deps.pool, { id: fileId, owner });
      return {
        ...{ success: true as const, fileId, previousStatus: before.state, newStatus: 'queued' as const },
        retryCount: after?.rescues ?? before.rescues + 1,
      };
    },
  );

  app.post(
    '/api/v2/uploads/stuck/retry-all',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Drive all stuck files of the caller on',
        description: 'The files are queued at once, and their runs are started one after the other.',
        querystring: OwnerQuery,
        body: z.strictObject({}),
        response: { 200: RetriedAll, ...problems(409, 413, 415) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const owner = askedOwner(caller, request.query.owner, ['admin']);
      const pipeline = pipelineOf(deps, 'file');
      const retried = await retryAllStuck(deps.pool, pipeline, { owner, actor: actorOf(caller), log: request.log });
      if (owner !== null) deps.drop(owner);
      return retried;
    },
  );
}
