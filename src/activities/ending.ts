import { classifyError } from '../core/error-class.js';
import { askedWaitMs, isRetryable } from '../core/errors.js';
import { stageOf } from '../core/machine.js';
import type { Pipeline, StageRow } from '../core/pipeline.js';
import { msOf } from '../core/span.js';
import type { Claimed } from '../db/spine/attempt.js';
import type { Ending } from '../db/spine/commit.js';
import { storableText } from '../db/postgres/parameters.js';
import type { Settled } from './watch.js';

/** Wait between error tries where the table names none. */
const DEFAULT_BACKOFF = { first: '1s', max: '1m' } as const;

/** The longest wait that somebody else may ask of us: what is away for longer is a matter for a breaker, whose waits end here too. */
const MAX_ASKED_WAIT_MS = 600_000;

/** Longest error text kept: enough to recognise it, not enough to store somebody's document. */
const MAX_MESSAGE = 2_000;

/** What an attempt's outcome means for its task. Null: nothing may be written, another attempt holds the task. */
export function endingOf(pipeline: Pipeline, claimed: Claimed, settled: Settled): Ending | null {
  switch (settled.as) {
    case 'result':
      return { is: 'done', ...settled.result };
    case 'released':
      return { is: 'released', lostSight: settled.why === 'lost_sight' };
    case 'superseded':
      return null;
    case 'error':
      return errorEnding(stageOf(pipeline, claimed.stage).row, claimed, settled.error);
  }
}

export function errorEnding(row: StageRow, claimed: Claimed, cause: Error): Ending {
  const message = messageOf(cause);
  const error = { class: classifyError(cause), message, stage: claimed.stage };
  const isSpent = claimed.errors + 1 >= row.tries || !isRetryable(cause);
  if (isSpent) return { is: 'spent', error };
  return { is: 'error', error, retryInMs: Math.max(retryDelayMs(row, claimed.errors), heededWaitMs(cause)) };
}

/** An earlier try would be one more of the few there are, and lost. */
function heededWaitMs(cause: Error): number {
  return Math.min(askedWaitMs(cause), MAX_ASKED_WAIT_MS);
}

/** Whatever was thrown: an error that can't be written down would not be counted, and half a surrogate pair (or one that the
 *  limit cuts in two) brings down the whole worker when Temporal's native part decodes it. */
function messageOf(cause: Error): string {
  return storableText(String(cause.message).slice(0, MAX_MESSAGE));
}

function retryDelayMs(row: StageRow, errorsBefore: number): number {
  const { first, max } = row.backoff ?? DEFAULT_BACKOFF;
  return Math.min(msOf(max), msOf(first) * 2 ** errorsBefore);
}
