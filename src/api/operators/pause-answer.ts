import { z } from 'zod';
import { msOf } from '../../core/span.js';
import type { Pause } from '../../db/spine/pipeline-pause.js';
import { spanField } from '../http/span-field.js';
import { textUpTo } from '../http/text-up-to.js';

const Time = z.iso.datetime();

/** An hour: long enough to mend something, short enough that a forgotten pause is not found out the next day. */
export const DEFAULT_PAUSE_MS = msOf('1h');

export const PauseBody = z.strictObject({
  for: spanField('24h').optional().describe('How long, such as 90s, 15m or 2h; an hour by default'),
  reason: textUpTo(2_000),
});

export const PauseAnswer = z.object({ until: Time, reason: z.string(), setBy: z.string(), setAt: Time });

export function pauseAnswer({ until, reason, setBy, setAt }: Pause): z.output<typeof PauseAnswer> {
  return { until: until.toISOString(), reason, setBy, setAt: setAt.toISOString() };
}
