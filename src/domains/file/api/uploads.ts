import { z } from 'zod';
import { callerOf } from '../../../api/http/access.js';
import { IdempotencyHeaders } from '../../../api/http/idempotency-key.js';
import { WRITERS } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { acceptItems } from '../../../api/items/accept-items.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import type { App } from '../../../api/parts.js';
import { findDuplicates } from '../db/files.js';
import { confirmUpload } from './confirm-upload.js';
import { assertAddressable, assertTaken, registerBatch, withAddresses } from './register-batch.js';
import type { UploadDeps } from './upload-deps.js';
import {
  BatchBody,
  CheckAnswer,
  CheckBody,
  Confirmed,
  KeptBatch,
  MAX_FILES,
  RegisteredBatch,
} from './upload-schema.js';

const TAGS = ['uploads'];

/** Registers files, and confirms that their bytes are there. */
export function addUploadRoutes(app: App, deps: UploadDeps): void {
  const { uploads } = deps;

  app.post(
    '/api/v2/uploads/batches',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: `Register up to ${MAX_FILES} files, each with an address for its bytes`,
        description:
          'All or nothing: a request that is not answered with 201 has registered no file, and `errors` names every fault. ' +
          `A file has at most ${uploads.maxBytes} bytes, a picture at most ${uploads.maxImageBytes}. ` +
          'PUT the bytes of each file to its `uploadUrl` with its `uploadHeaders`, and then confirm it.',
        headers: IdempotencyHeaders,
        body: BatchBody,
        response: { 201: RegisteredBatch, ...problems(409, 413, 415) },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { body, headers } = request;
      assertTaken(body.files, uploads);
      await assertAddressable(deps);
      const bringing = {
        log: request.log,
        caller,
        route: 'POST /api/v2/uploads/batches',
        key: headers['idempotency-key'],
        body,
        brings: 'many',
      } as const;
      const pipeline = pipelineOf(deps, 'file');
      const { batchTimeoutMs } = uploads;
      const answer = await acceptItems(deps, bringing, (intake) =>
        registerBatch(intake, { caller, pipeline, batchTimeoutMs, body }),
      );
      return reply.code(201).send(await withAddresses(deps, caller.sub, KeptBatch.parse(answer.body)));
    },
  );

  app.post(
    '/api/v2/uploads/batches/:id/files/:fileId/confirm',
    {
      // Counted apart, so that the 500 files of a batch can be confirmed in a row and their progress can be read meanwhile.
      config: { access: WRITERS, countedAs: 'confirmations of ' },
      schema: {
        tags: TAGS,
        summary: 'Confirm that a file’s bytes are there: its processing begins',
        description:
          'A file that is confirmed already gets the same answer again. 409 and `upload_missing`: the bytes are not there. ' +
          '410 and `upload_expired`: the batch has expired or was cancelled.',
        params: z.object({ id: z.uuid(), fileId: z.uuid() }),
        body: z.strictObject({}),
        response: { 200: Confirmed, ...problems(404, 409, 410, 413, 415) },
      },
    },
    (request) => {
      const { id: batchId, fileId } = request.params;
      return confirmUpload(deps, { caller: callerOf(request), log: request.log, batchId, fileId });
    },
  );

  app.post(
    '/api/v2/uploads/check-duplicates',
    {
      schema: {
        tags: TAGS,
        summary: 'Which of these files you have already: by name, by content, and still on their way',
        body: CheckBody,
        response: { 200: CheckAnswer, ...problems(413, 415) },
      },
    },
    async (request) => {
      const { files } = request.body;
      const found = await findDuplicates(deps.pool, callerOf(request).sub, files);
      return {
        files: found.map(({ index, byName, byHash, inFlight }) => ({
          clientId: files[index]?.clientId ?? null,
          name: files[index]?.name ?? '',
          duplicate: byName.length > 0 || byHash.length > 0,
          byName,
          byHash,
          inFlight,
        })),
      };
    },
  );
}
