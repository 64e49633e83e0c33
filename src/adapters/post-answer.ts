import type { IncomingMessage } from 'node:http';
import { AppError } from '../core/errors.js';
import { isTimeUp } from '../ports/within-time.js';
import { retryAfterMsOf } from './retry-after.js';

/** The rest of an answer is not read, because only the status matters. */
const MAX_ANSWER_BYTES = 65_536;

/** Enough of an error to understand the receiver, and short enough for a list. */
const MAX_EXCERPT_CHARACTERS = 200;

/** The status decides. Once it says that the receiver has the notice, a body that trickles, breaks off or never ends
 *  does not matter, because sending the notice again would be worse. */
export async function readAnswer(response: IncomingMessage): Promise<void> {
  const status = response.statusCode ?? 0;
  const text = await readStart(response);
  if (status >= 200 && status < 300) return;
  const excerpt = text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .slice(0, MAX_EXCERPT_CHARACTERS)
    .trim();
  const sentence = `the receiver answered ${status}${excerpt && `: ${excerpt}`}`;
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  if (isFinal) throw new AppError('delivery_refused', sentence);
  const retryAfterMs = retryAfterMsOf(response.headers['retry-after']);
  throw new AppError('delivery_failed', sentence, retryAfterMs === undefined ? {} : { facts: { retryAfterMs } });
}

/** Why a request has no answer. After an abort the signal's reason says why, because the error says only that it was
 *  aborted. */
export function deliveryFailureOf(error: Error, signal: AbortSignal): AppError {
  const why = signal.aborted ? abortedBy(signal) : error.message || 'the connection failed';
  return new AppError('delivery_failed', why, { cause: error });
}

function abortedBy(signal: AbortSignal): string {
  return isTimeUp(signal) ? 'the receiver did not answer in time' : 'stopped before the receiver had answered';
}

async function readStart(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_ANSWER_BYTES) break;
    }
  } catch {
    // The connection broke off, or time is up. The status is known, and the text so far is enough.
  }
  return Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString('utf8');
}
