import { z } from 'zod';
import { BEST_MARK, type Criterion, CRITERIA } from '../domains/submission/core/judgement/judgement.js';

/** Spelt out: some services refuse a schema with bounds in it. */
const mark = z.literal(Array.from({ length: BEST_MARK + 1 }, (_, at) => at));

/** What a model must answer. What it adds (a score, a verdict) is not read. */
export const answerSchema = z.object({
  concerns: z.array(
    z.object({
      criterion: z.enum(CRITERIA),
      text: z.string(),
      quote: z.object({ file: z.string(), text: z.string() }).nullable(),
    }),
  ),
  marks: z.object(Object.fromEntries(CRITERIA.map((name) => [name, mark])) as Record<Criterion, typeof mark>),
});
