import { classifyError } from '../core/error-class.js';
import { AppError, askedWaitMs, isRetryable } from '../core/errors.js';
import { stageOf } from '../core/machine.js';
import type { Pipeline, StageRow } from '../core/pipeline.js';
import { msOf, type Span } from '../core/span.js';
import { storableText } from '../db/postgres/parameters.js';
import type { Claimed, Ending } from '../db/spine/attempt.js';

/** The wait between tries where the table names no wait. */
const DEFAULT_BACKOFF = { first: '1s', max: '1m' } as const;

/** The longest wait that another service may ask for. A breaker deals with a service that is away for longer, and the breaker's waits
 *  end here too. */
const MAX_ASKED_WAIT_MS = 600_000;

/** The longest error text that is kept: enough to recognise the error, too little to store somebody's document. */
const MAX_MESSAGE = 2_000;

/** The ending of an attempt that failed: the next try comes after a wait, or the tries are spent. */
export function errorEnding(pipeline: Pipeline, claimed: Claimed, cause: Error): Ending {
  const { row } = stageOf(pipeline, claimed.stage);
  const error = { class: classifyError(cause), message: storableMessageOf(cause), stage: claimed.stage };
  const isSpent = claimed.errors + 1 >= row.tries || !isRetryable(cause);
  if (isSpent) return { is: 'spent', error };
  return { is: 'error', error, retryInMs: Math.max(retryDelayMs(row, claimed.errors), heededWaitMs(cause)) };
}

/** A process that did not start says nothing about the stage: its worker may be stopping, or the machine short of memory. */
const UNBEGUN_RETRY = { first: '5s', max: '1m' } as const;

/** Over a quarter of an hour. A process that did not start by then will not start by itself. */
const FREE_STARTS = 20;

/** The ending of an attempt whose stage never began. The next try comes after a wait. No try is spent at first; later attempts end
 *  like any that fails, so that somebody hears of it. `before`: how many attempts at the task have ended so. */
export function unbegunEnding(pipeline: Pipeline, claimed: Claimed, before: number, message: string): Ending {
  const cause = new AppError('internal', message);
  if (before >= FREE_STARTS) return errorEnding(pipeline, claimed, cause);
  const error = { class: classifyError(cause), message: storableMessageOf(cause), stage: claimed.stage };
  return { is: 'unbegun', error, retryInMs: doubled(UNBEGUN_RETRY, before) };
}

/** A try before the service is back would fail and cost one of the few tries. */
function heededWaitMs(cause: Error): number {
  return Math.min(askedWaitMs(cause), MAX_ASKED_WAIT_MS);
}

/** Makes the text of any error storable, because an error that can't be stored would not be counted. Half a surrogate
 *  pair, or a pair that the limit cuts in two, brings down the whole worker when Temporal's native part decodes it. */
function storableMessageOf(cause: Error): string {
  return storableText(String(cause.message).slice(0, MAX_MESSAGE));
}

function retryDelayMs(row: StageRow, errorsBefore: number): number {
  return doubled(row.backoff ?? DEFAULT_BACKOFF, errorsBefore);
}

function doubled({ first, max }: { first: Span; max: Span }, times: number): number {
  return Math.min(msOf(max), msOf(first) * 2 ** times);
}
