import { z } from 'zod';

/** The header of every POST that creates an item. The object is loose, so that the other headers stay as they are. */
export const IdempotencyHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 printable ASCII characters without spaces')
    .optional()
    .describe('The same key and body within 24 hours give the same answer'),
});
