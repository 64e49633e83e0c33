import { memoryText } from '../../../config/values.js';
import type { z } from 'zod';

export const searchVariables = {
  // 125,000 passages of the local model: one large owner or many small ones. An API process of usual size has that to spare.
  SEARCH_MEMORY: memoryText.default(256 * 1_024 ** 2),
};

export function searchOf(given: z.output<z.ZodObject<typeof searchVariables>>) {
  return { maxBytes: given.SEARCH_MEMORY };
}
