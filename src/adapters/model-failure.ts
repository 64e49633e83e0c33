import { APICallError, type FinishReason, NoObjectGeneratedError } from 'ai';
import { AppError } from '../core/errors.js';
import { OversizedAnswer } from './model-fetch.js';
import { retryAfterMsOf } from './retry-after.js';

/** The words of one use of a model, so that a message names the model that failed and the content that it was shown. */
export interface ModelWords {
  /** `summarizer` reads "the summarizer did not answer in time". */
  role: string;
  /** `document` reads "the document is too long for this summarizer". */
  content: string;
  /** How the names of the model's settings begin: `SUMMARY` reads "check SUMMARY_API_KEY". */
  variables: string;
  /** How the name of the setting ends that decides the form of a request, besides the model. ANSWER_FORMAT by default. */
  form?: string;
}

/** The meaning of a refusal, by status, for the operator of the installation. */
const REFUSALS: ReadonlyMap<number, (its: string, words: ModelWords) => string> = new Map([
  [400, sayNotUnderstood],
  [401, (its) => `it does not accept the key: check ${its}_API_KEY`],
  [402, () => 'it asks for payment'],
  [403, (its) => `the key may not be used for this: check ${its}_API_KEY and ${its}_MODEL`],
  [404, (its) => `there is no such address or model: check ${its}_URL and ${its}_MODEL`],
  [405, (its) => `this is no address of a model: check ${its}_URL`],
  [422, sayNotUnderstood],
]);

/** How services say, in an answer of status 400 or 422, that they do not take the content: it is too long for the
 *  model, or against their rules. The content can provoke these words, so a caller must not read success into them. */
const CONTENT_FAULTS: readonly (readonly [RegExp, (words: ModelWords) => string])[] = [
  [/context_length_exceeded|prompt is too long|maximum context length|context (?:length|window|size)/i, sayTooLong],
  [/content_filter|content_policy_violation|content management policy/i, sayDeclined],
];

/** The model stopped before it had given an answer. */
export class UnfinishedAnswer extends Error {
  override readonly name = 'UnfinishedAnswer';

  constructor(readonly why: FinishReason) {
    super(`the answer ended by ${why}`);
  }
}

/** Why there is no answer. The SDK's error is not kept as the cause, and the message repeats none of the server's
 *  words: both hold the content, and some servers repeat the key. */
export function modelFailureOf(
  error: unknown,
  words: ModelWords,
  { isStopped, isLate }: { isStopped: boolean; isLate: boolean },
): AppError {
  const { role } = words;
  if (isStopped) return unavailable(`stopped before the ${role} had answered`);
  if (isLate) return unavailable(`the ${role} did not answer in time`);
  const chain = causesOf(error);
  if (chain.some((each) => each instanceof OversizedAnswer)) return unavailable(`the ${role}’s answer was too large`);
  const call = chain.find((each) => APICallError.isInstance(each));
  if (call?.statusCode !== undefined && !isSuccess(call.statusCode)) {
    return statusFailureOf(call.statusCode, call, words);
  }
  const code = chain.map(systemCodeOf).find((found) => found !== undefined);
  if (code !== undefined) return unavailable(`the ${role} cannot be reached (${code})`);
  const why = chain.map(finishReasonOf).find((found) => found !== undefined);
  if (why === 'content-filter') return new AppError('model_declined', sayDeclined(words));
  if (why === 'length') return unavailable(`the ${role}’s answer was cut off`);
  return unavailable(`the ${role}’s answer is not the JSON that was asked for`);
}

function statusFailureOf(
  status: number,
  { responseBody = '', responseHeaders }: APICallError,
  words: ModelWords,
): AppError {
  const { role, variables } = words;
  const answered = `the ${role} answered ${status}`;
  if (status === 413) return new AppError('model_declined', `${answered}: ${sayTooLong(words)}`);
  const [, sayFault] = CONTENT_FAULTS.find(([pattern]) => pattern.test(responseBody)) ?? [];
  if (sayFault && (status === 400 || status === 422)) {
    return new AppError('model_declined', `${answered}: ${sayFault(words)}`);
  }
  if (status >= 300 && status < 400) {
    return new AppError('model_refused', `${answered}: redirects are not followed, check ${variables}_URL`);
  }
  const sayRefusal = REFUSALS.get(status);
  if (sayRefusal) return new AppError('model_refused', `${answered}: ${sayRefusal(variables, words)}`);
  return unavailable(answered, retryAfterMsOf(responseHeaders?.['retry-after']));
}

function sayNotUnderstood(its: string, { form = 'ANSWER_FORMAT' }: ModelWords): string {
  return `it does not understand our request: check ${its}_MODEL and ${its}_${form}`;
}

function sayTooLong({ role, content }: ModelWords): string {
  return `the ${content} is too long for this ${role}`;
}

function sayDeclined({ role, content }: ModelWords): string {
  return `the ${role} declined to look at this ${content}`;
}

function unavailable(message: string, retryAfterMs?: number): AppError {
  return new AppError('model_unavailable', message, retryAfterMs === undefined ? {} : { facts: { retryAfterMs } });
}

function finishReasonOf(error: unknown): FinishReason | undefined {
  if (error instanceof UnfinishedAnswer) return error.why;
  return NoObjectGeneratedError.isInstance(error) ? error.finishReason : undefined;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** A code of the system or of TLS, such as ECONNREFUSED. Its form leaves no room for a secret. */
function systemCodeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? code : undefined;
}

/** Six at most, because the causes may form a cycle. */
function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at instanceof Error && chain.length < 6; at = at.cause) chain.push(at);
  return chain;
}
