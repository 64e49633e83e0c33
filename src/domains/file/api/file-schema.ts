import { z } from 'zod';
import { ItemAnswer } from '../../../api/items/item-schema.js';
import { QueuePlace } from '../../../api/items/queue-place.js';

const Time = z.iso.datetime();

/** The item with the fields of a file. */
export const FileAnswer = ItemAnswer.omit({ timeline: true, timelineTruncated: true })
  .extend({
    batchId: z.uuid(),
    clientId: z.string(),
    name: z.string(),
    mimeType: z.string().describe('As announced'),
    sizeBytes: z.int(),
    sha256: z.string().nullable().describe('As announced; null: it was not'),
    format: z.string().nullable().describe('As the content says; null: it was not read yet'),
    pages: z.int().nullable(),
    width: z.int().nullable(),
    height: z.int().nullable(),
    language: z.string().nullable(),
    readiness: z.object({
      ready: z.boolean().describe('It can be searched'),
      text: z.boolean().describe('Its text can be read'),
      chunks: z.int().nullable().describe('Null: it is not split yet'),
    }),
    timings: z.object({
      registeredAt: Time,
      confirmedAt: Time.nullable(),
      endedAt: Time.nullable(),
      processingMs: z.number().nullable().describe('From the confirmation to the end; null: one of them is missing'),
      stages: z
        .array(
          z.object({
            stage: z.string(),
            attempt: z.int(),
            startedAt: Time,
            endedAt: Time,
            durationMs: z.number(),
            result: z.string(),
          }),
        )
        .describe('Every attempt that has ended, oldest first; the latest 200'),
    }),
    queue: QueuePlace,
    nextAction: z.string().describe('What happens by itself, or what its owner can do'),
  })
  .meta({ id: 'File' });
export type FileAnswer = z.output<typeof FileAnswer>;

export const TextAnswer = z.object({
  fileId: z.uuid(),
  chars: z.int(),
  recognized: z.boolean().describe('The text was read from a picture'),
  truncated: z.boolean().describe('The text is longer than what is kept of it'),
  parts: z.array(
    z.object({
      kind: z.enum(['text', 'markdown', 'table', 'code']),
      text: z.string(),
      title: z.string().optional().describe('The name of a sheet, or the title of a slide'),
      page: z.int().optional().describe('The page, slide or sheet, from 1'),
      header: z.string().optional().describe('The first row of a table'),
    }),
  ),
});

export const ChunkList = z.object({
  chunks: z.array(
    z.object({
      seq: z.int().describe('From 1'),
      text: z.string(),
      title: z.string().nullable(),
      page: z.int().nullable(),
      tokens: z.int(),
      model: z.string().nullable().describe('The model of its vector; null: the vector is not there yet'),
    }),
  ),
  nextCursor: z.string().nullable(),
});
