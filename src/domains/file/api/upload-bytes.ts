import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { openProblems } from '../../../api/http/problem.js';
import { STREAMED_BODY_WITHIN_MS } from '../../../api/http/body-deadline.js';
import { watchBody } from '../../../api/http/watch-body.js';
import type { App } from '../../../api/parts.js';
import { AppError, isAppError } from '../../../core/errors.js';
import { findUpload } from '../db/files.js';
import { FILE_CODES } from '../errors.js';
import { receiveUpload } from './receive-upload.js';
import type { UploadDeps } from './upload-deps.js';

/** Uploads that one process receives at once. Each needs some hundred kilobytes and a file handle; more would only share the same line. */
const AT_ONCE = 64;

/** A file that was cancelled before its bytes came is in `failed`. */
const WITHOUT_BYTES = ['registered', 'failed'];

const Params = z.object({ fileId: z.uuid() });
const Signed = z.strictObject({ expires: z.string().max(20), signature: z.string().max(100) });
const Uploaded = z.object({ fileId: z.uuid(), state: z.literal('uploaded'), sizeBytes: z.int() });

/** The route behind the signed addresses of this installation. A store that signs requests by itself receives the bytes instead. */
export async function addUploadBytesRoute(app: App, deps: UploadDeps): Promise<void> {
  let open = 0;
  await app.register(async (scope) => {
    // Within this scope a body of any type is passed on as it comes.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => {
      done(null, payload);
    });
    (scope as App).put(
      '/api/v2/uploads/bytes/:fileId',
      {
        handlerTimeout: STREAMED_BODY_WITHIN_MS,
        // The signature is the permission. It was given by a request that is limited, for one file, whose bytes are taken once. So the
        // 500 files of a batch can be sent in a row.
        config: { access: 'open', isUncounted: true, streamsBody: true, isStream: true },
        schema: {
          tags: ['uploads'],
          summary: 'Send the bytes of a registered file to its signed address',
          description:
            'The body is the file. It is stored whole, with the announced size and checksum, or not at all. ' +
            '409: the bytes are there already. 410: the address, its batch or its file is gone. After any other answer it may be sent again.',
          params: Params,
          querystring: Signed,
          response: { 201: Uploaded, ...openProblems(403, 409, 410) },
        },
      },
      async (request, reply) => {
        const { fileId } = request.params;
        // A caller without a signature must not hold a connection by its body, however slowly that comes.
        void reply.header('Connection', 'close');
        assertSigned(deps, fileId, request.query);
        void reply.removeHeader('Connection');
        const upload = await findUpload(deps.pool, fileId);
        if (upload && !WITHOUT_BYTES.includes(upload.state)) throw uploadedAlready();
        if (!upload?.isOpen || upload.state !== 'registered') {
          throw new AppError(FILE_CODES.upload_expired, 'this upload has expired, or was cancelled or deleted');
        }
        const { sizeBytes } = upload;
        if (!isAnnounced(request, sizeBytes)) {
          // The rest of the body is not waited for.
          void reply.header('Connection', 'close');
          throw mismatch(`Content-Length must be ${sizeBytes}, as announced`);
        }
        if (open >= AT_ONCE) throw new AppError('overloaded', `${AT_ONCE} uploads are being received; send it later`);
        open += 1;
        try {
          await receiveUpload(deps, request.log, upload, watchBody((request.body ?? request.raw) as Readable));
        } catch (error) {
          if (isAppError(error) && error.code === 'request_timeout') void reply.header('Connection', 'close');
          throw error;
        } finally {
          open -= 1;
        }
        return reply.code(201).send({ fileId, state: 'uploaded', sizeBytes });
      },
    );
  });
}

/** Nothing is read before the signature is known to be ours, because anybody may call. */
function assertSigned({ signatures }: UploadDeps, fileId: string, given: z.output<typeof Signed>): void {
  const expiresAt = signatures?.expiryIn(fileId, given) ?? null;
  if (expiresAt === null) throw new AppError('not_allowed', 'this address was not signed here for this file');
  if (expiresAt <= new Date()) throw new AppError(FILE_CODES.upload_expired, 'this address has expired');
}

/** A body in chunks has no length in its head. The store then counts the bytes as they come. */
function isAnnounced({ headers }: FastifyRequest, sizeBytes: number): boolean {
  const length = headers['content-length'];
  return length === undefined ? headers['transfer-encoding'] !== undefined : Number(length) === sizeBytes;
}

function uploadedAlready(): AppError {
  return new AppError('state_conflict', 'the bytes of this file are there already; confirm the upload');
}

function mismatch(message: string): AppError {
  return new AppError('blob_mismatch', message);
}
