import { z } from 'zod';

/** What the process may say. It reads hostile contents, so its answers are checked like any input. */
export const parts = z.array(
  z.object({
    kind: z.enum(['text', 'markdown', 'table', 'code']),
    text: z.string(),
    title: z.string().exactOptional(),
    page: z.int().exactOptional(),
    header: z.string().exactOptional(),
  }),
);

export const extraction = z.object({
  format: z.string(),
  parts,
  pages: z.int().exactOptional(),
  width: z.int().exactOptional(),
  height: z.int().exactOptional(),
  isRecognized: z.boolean(),
  isTruncated: z.boolean(),
});

export const chunks = z.array(
  z.object({ text: z.string(), title: z.string().exactOptional(), page: z.int().exactOptional(), tokens: z.int() }),
);

export const progress = z.union([z.object({ page: z.int(), of: z.int() }), z.object({ reading: z.string() })]);
