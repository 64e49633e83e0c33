import { z } from 'zod';
import { callerOf } from '../../../api/http/access.js';
import { cursorOf, positionIn } from '../../../api/http/cursor.js';
import { actorOf, maySee, WRITERS } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { ItemParams } from '../../../api/items/item-schema.js';
import type { App } from '../../../api/parts.js';
import { AppError } from '../../../core/errors.js';
import { inTransaction } from '../../../db/postgres/client.js';
import { cancelBatch, countStates, findBatch, listBatches } from '../db/batches.js';
import { listFilesOf } from '../db/files.js';
import { batchLine, fileLine } from './batch-answer.js';
import { deleteMarked } from './delete-own-file.js';
import { mayHandle, noSuchBatch } from './own-file.js';
import type { UploadDeps } from './upload-deps.js';
import { BatchAnswer, BatchLine, Deleting } from './upload-schema.js';

const TAGS = ['uploads'];

/** A caller waits no longer than this for the deletion of a batch's files. The clean-up deletes the rest. */
const DELETE_WITHIN_MS = 5_000;

const Query = z.strictObject({
  cursor: z.string().max(500).optional().describe('`nextCursor` of the page before'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

const List = z.object({ batches: z.array(BatchLine).describe('The newest first'), nextCursor: z.string().nullable() });

/** Shows the caller's batches, and cancels one. */
export function addUploadBatchRoutes(app: App, deps: UploadDeps): void {
  const { pool } = deps;

  app.get(
    '/api/v2/uploads/batches',
    { schema: { tags: TAGS, summary: 'Your batches', querystring: Query, response: { 200: List, ...problems() } } },
    async (request) => {
      const { cursor, limit } = request.query;
      const owner = callerOf(request).sub;
      const behind = positionIn(cursor, {}, (text) => z.uuid().safeParse(text).success);
      const found = await listBatches(pool, { owner, behind, limit: limit + 1 });
      const page = found.slice(0, limit);
      const ids = page.map(({ id }) => id);
      const states = await countStates(pool, ids);
      const last = found.length > limit ? ids.at(-1) : undefined;
      return {
        batches: page.map((batch) => batchLine(batch, states.get(batch.id) ?? {}, pipelineOf(deps, 'file'))),
        nextCursor: last === undefined ? null : cursorOf(last, {}),
      };
    },
  );

  app.get(
    '/api/v2/uploads/batches/:id',
    {
      schema: {
        tags: TAGS,
        summary: 'A batch: its status, its expiry, and where its files are',
        params: ItemParams,
        response: { 200: BatchAnswer, ...problems(404) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const batch = await findBatch(pool, id);
      if (!batch || !maySee(callerOf(request), batch)) throw noSuchBatch(id);
      const files = await listFilesOf(pool, id);
      const counted: Record<string, number> = {};
      for (const { state } of files) counted[state] = (counted[state] ?? 0) + 1;
      return { ...batchLine(batch, counted, pipelineOf(deps, 'file')), files: files.map(fileLine) };
    },
  );

  app.delete(
    '/api/v2/uploads/batches/:id',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Cancel a batch: its unconfirmed files are deleted, the others stay',
        description: '202: the files are gone for you, and some of their bytes are still being deleted.',
        params: ItemParams,
        response: { 202: Deleting, 204: z.null(), ...problems(404, 409) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const caller = callerOf(request);
      const batch = await findBatch(pool, id);
      if (!batch || !mayHandle(caller, batch)) throw noSuchBatch(id);
      if (batch.status === 'cancelled') return reply.code(204).send(null);
      const files = await inTransaction(pool, (transaction) => cancelBatch(transaction, id));
      if (!files) {
        const message = `batch ${id} is ${batch.status} and can't be cancelled; delete its files instead`;
        throw new AppError('state_conflict', message, { facts: { status: batch.status } });
      }
      const until = Date.now() + DELETE_WITHIN_MS;
      let isWhole = true;
      for (const file of files) {
        isWhole &&= Date.now() < until && (await deleteMarked(deps, request.log, file, actorOf(caller))) === 'deleted';
      }
      return isWhole ? reply.code(204).send(null) : reply.code(202).send({ deleting: true });
    },
  );
}
