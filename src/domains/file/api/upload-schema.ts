import { z } from 'zod';
import { textUpTo } from '../../../api/http/text-up-to.js';
import { BATCH_STATUSES } from '../db/batches.js';

const Time = z.iso.datetime();

/** As many files as one transaction registers in well under a second. */
export const MAX_FILES = 500;

/** Notes about a batch, and no contents. */
const MAX_METADATA_BYTES = 8_192;

/** Lengths that only keep the request readable. `faultsOfFiles` checks the values, and names the fault of each file. */
export const BatchBody = z.strictObject({
  files: z
    .array(
      z.strictObject({
        clientId: textUpTo(200).describe('The caller’s own name for the file, unique in the batch'),
        name: z.string().max(2_000).describe('Without folders; at most 255 bytes'),
        mimeType: z
          .string()
          .max(300)
          .describe('application/octet-stream lets the ending decide; the content decides later what the file is'),
        sizeBytes: z.int(),
        sha256: z.string().max(100).optional().describe('64 hexadecimal digits; enforced where it is given'),
      }),
    )
    .min(1)
    .max(MAX_FILES),
  metadata: z
    .record(z.string(), z.unknown())
    .optional()
    .refine(
      (value) => Buffer.byteLength(JSON.stringify(value ?? {})) <= MAX_METADATA_BYTES,
      `must be at most ${MAX_METADATA_BYTES} bytes of JSON`,
    ),
});
export type BatchBody = z.output<typeof BatchBody>;

/** The part of the answer that is kept under the idempotency key. The addresses are signed again for each answer, because a reader of
 *  that table could follow them. */
export const KeptBatch = z.object({
  batchId: z.uuid(),
  expiresAt: Time,
  files: z.array(
    z.object({
      clientId: z.string(),
      fileId: z.uuid(),
      sizeBytes: z.int(),
      sha256: z.string().nullable(),
    }),
  ),
});

export const RegisteredBatch = z
  .object({
    batchId: z.uuid(),
    expiresAt: Time.describe('Until then bytes and confirmations are taken'),
    files: z.array(
      z.object({
        clientId: z.string(),
        fileId: z.uuid(),
        uploadUrl: z
          .string()
          .describe('PUT the bytes here, without a token. A path where the API does not know its address'),
        uploadHeaders: z
          .record(z.string(), z.string())
          .optional()
          .describe('Headers that the PUT must carry, because they are signed'),
      }),
    ),
  })
  .meta({ id: 'RegisteredBatch' });

export const Confirmed = z.object({
  batchId: z.uuid(),
  fileId: z.uuid(),
  confirmedAt: Time,
  fileUrl: z.string().describe('Where the file’s progress is'),
});

export const FileLine = z
  .object({
    id: z.uuid(),
    batchId: z.uuid(),
    clientId: z.string(),
    name: z.string(),
    mimeType: z.string(),
    sizeBytes: z.int(),
    state: z.string(),
    createdAt: Time,
    confirmedAt: Time.nullable(),
    endedAt: Time.nullable(),
    error: z.string().nullable().describe('The message of its present error'),
  })
  .meta({ id: 'FileLine' });

export const BatchLine = z
  .object({
    batchId: z.uuid(),
    status: z.enum(BATCH_STATUSES).describe('completed: every file was confirmed, or deleted'),
    createdAt: Time,
    expiresAt: Time,
    endedAt: Time.nullable().describe('When it was completed, expired or cancelled'),
    metadata: z.record(z.string(), z.unknown()),
    fileCount: z.int().describe('How many files were registered'),
    unconfirmed: z.int(),
    states: z
      .record(z.string(), z.int())
      .describe('How many of its files are in each state, ready and failed among them'),
  })
  .meta({ id: 'UploadBatchLine' });

export const BatchAnswer = BatchLine.extend({
  files: z.array(FileLine).describe('In the order in which they were registered, without deleted files'),
}).meta({ id: 'UploadBatch' });

export const CheckBody = z.strictObject({
  files: z
    .array(
      z.strictObject({
        clientId: textUpTo(200).optional(),
        name: textUpTo(2_000),
        sizeBytes: z.int().min(0).optional(),
        sha256: z
          .string()
          .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits')
          .optional(),
      }),
    )
    .min(1)
    .max(MAX_FILES),
});

const Duplicate = z.object({
  fileId: z.uuid(),
  name: z.string(),
  state: z.string(),
  sizeBytes: z.int(),
  createdAt: Time,
});

export const CheckAnswer = z.object({
  files: z
    .array(
      z.object({
        clientId: z.string().nullable(),
        name: z.string(),
        duplicate: z.boolean().describe('A file of yours has this name or this content'),
        byName: z.array(Duplicate).describe('The latest five'),
        byHash: z.array(Duplicate).describe('The latest five; needs sha256, here and when that file was registered'),
        inFlight: z.array(Duplicate).describe('Of both, files that are not ready or failed yet'),
      }),
    )
    .describe('In the order of the request'),
});

/** Of a deletion that the clean-up ends. */
export const Deleting = z.object({ deleting: z.literal(true) });
