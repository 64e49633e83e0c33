import type { Readable } from 'node:stream';
import { z } from 'zod';

/** The response schema of text that is sent piece by piece: a string to the reader, a stream to the handler. */
export function streamedText(media: string, description: string) {
  return { description, content: { [media]: { schema: z.string() as unknown as z.ZodType<Readable> } } };
}
