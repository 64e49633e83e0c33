import { z } from 'zod';
import { BEST_MARK, type Criterion, CRITERIA } from '../core/judgement.js';

const mark = z.int().min(0).max(BEST_MARK);

/** What a model must answer. What it adds (a score, a verdict) is not read. */
export const answerSchema = z.object({
  concerns: z.array(
    z.object({
      criterion: z.enum(CRITERIA),
      text: z.string().min(1),
      quote: z.object({ file: z.string(), text: z.string() }).nullable(),
    }),
  ),
  marks: z.object(Object.fromEntries(CRITERIA.map((name) => [name, mark])) as Record<Criterion, typeof mark>),
});
