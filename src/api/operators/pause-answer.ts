import { z } from 'zod';
import { msOf, type Span } from '../../core/span.js';
import type { Pause } from '../../db/spine/pipeline-pause.js';
import { spanField } from '../http/span-field.js';
import { textUpTo } from '../http/text-up-to.js';

const Time = z.iso.datetime();

/** How long a pause of a pipeline lasts if nobody says how long, and at most. */
export interface PauseLimits {
  default: Span;
  max: Span;
}

export function pauseBodyOf(limits: PauseLimits) {
  return z.strictObject({
    for: spanField(limits.max)
      .optional()
      .transform((forMs) => forMs ?? msOf(limits.default))
      .describe(`How long, such as 90s, 15m or 2h; ${limits.default} by default`),
    reason: textUpTo(2_000),
  });
}

export const PauseAnswer = z.object({ until: Time, reason: z.string(), setBy: z.string(), setAt: Time });

export function pauseAnswer({ until, reason, setBy, setAt }: Pause): z.output<typeof PauseAnswer> {
  return { until: until.toISOString(), reason, setBy, setAt: setAt.toISOString() };
}
