import type { IncomingMessage } from 'node:http';
import { AppError } from '../core/errors.js';
import { retryAfterMsOf } from './retry-after.js';

/** Of an answer no more than this is read: a receiver has nothing to say to us but its status. */
const MAX_ANSWER_BYTES = 65_536;

/** Enough of an error to know what the receiver means, little enough for a list. */
const MAX_EXCERPT_CHARACTERS = 200;

/** The status decides. Once it says that the notice was taken, an answer that trickles, breaks off or never ends is none of
 *  our business: sending it again would be worse. */
export async function answerOf(response: IncomingMessage): Promise<void> {
  const status = response.statusCode ?? 0;
  const text = await startOf(response);
  if (status >= 200 && status < 300) return;
  const excerpt = text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .slice(0, MAX_EXCERPT_CHARACTERS)
    .trim();
  const sentence = `the receiver answered ${String(status)}${excerpt && `: ${excerpt}`}`;
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  if (isFinal) throw new AppError('delivery_refused', sentence);
  const retryAfterMs = retryAfterMsOf(response.headers['retry-after']);
  throw new AppError('delivery_failed', sentence, retryAfterMs === undefined ? {} : { facts: { retryAfterMs } });
}

/** Why a request has no answer; past the time limit, the abort hides what it was waiting for. */
export function failureOf(error: Error, signal: AbortSignal): AppError {
  const why = signal.aborted ? abortedBy(signal) : error.message || 'the connection failed';
  return new AppError('delivery_failed', why, { cause: error });
}

function abortedBy({ reason }: AbortSignal): string {
  const isTimeUp = reason instanceof Error && reason.name === 'TimeoutError';
  return isTimeUp ? 'the receiver did not answer in time' : 'stopped before the receiver had answered';
}

async function startOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_ANSWER_BYTES) break;
    }
  } catch {
    // Broken off or out of time: the status is there, and what came of the text will do.
  }
  return Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString('utf8');
}
