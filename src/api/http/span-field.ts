import { z } from 'zod';
import { isSpan, msOf, type Span } from '../../core/span.js';

/** A length of time as a request spells it, such as 90s or 2h, in milliseconds; from a second up to `max`. */
export function spanField(max: Span) {
  return z
    .string()
    .refine((value) => isSpan(value) && msOf(value) >= 1_000 && msOf(value) <= msOf(max), {
      error: `must be a span of time from 1s to ${max}, such as 90s, 15m or 2h`,
    })
    .transform((value) => msOf(value as Span));
}
