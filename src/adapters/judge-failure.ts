import { APICallError, type FinishReason, NoObjectGeneratedError } from 'ai';
import { AppError } from '../core/errors.js';
import { OversizedAnswer } from './model-fetch.js';
import { retryAfterMsOf } from './retry-after.js';

const TOO_LONG = 'the skill is too long for this judge';
const AGAINST_RULES = 'the judge declined to look at this skill';

/** What each refusal means to whoever runs the installation. */
const REFUSALS: ReadonlyMap<number, string> = new Map([
  [400, 'it does not understand our request: check JUDGE_MODEL and JUDGE_ANSWER_FORMAT'],
  [401, 'it does not accept the key: check JUDGE_API_KEY'],
  [402, 'it asks for payment'],
  [403, 'the key may not be used for this: check JUDGE_API_KEY and JUDGE_MODEL'],
  [404, 'there is no such address or model: check JUDGE_URL and JUDGE_MODEL'],
  [405, 'this is no address of a model: check JUDGE_URL'],
  [422, 'it does not understand our request: check JUDGE_MODEL and JUDGE_ANSWER_FORMAT'],
]);

/** How services say, in an answer of status 400 or 422, that it is the content which they do not take: too long for the model, or
 *  against their rules. What a skill's own text can make of this is a person who looks at it. */
const OF_CONTENT: readonly (readonly [RegExp, string])[] = [
  [/context_length_exceeded|prompt is too long|maximum context length|context (?:length|window|size)/i, TOO_LONG],
  [/content_filter|content_policy_violation|content management policy/i, AGAINST_RULES],
];

/** The model stopped before it had said anything of use. */
export class UnfinishedAnswer extends Error {
  override readonly name = 'UnfinishedAnswer';

  constructor(readonly why: FinishReason) {
    super(`the answer ended by ${why}`);
  }
}

/** Why there is no judgement. The error of the SDK is not kept as its cause, and nothing of what the server said is repeated:
 *  both hold the skill's content, and some servers repeat the key. */
export function judgeFailure(error: unknown, timedOut: boolean, stopped: boolean): AppError {
  if (stopped) return unavailable('stopped before the judge had answered');
  if (timedOut) return unavailable('the judge did not answer in time');
  const chain = causesOf(error);
  if (chain.some((each) => each instanceof OversizedAnswer)) return unavailable('the judge’s answer was too large');
  const call = chain.find((each) => APICallError.isInstance(each));
  if (call?.statusCode !== undefined && !isTaken(call.statusCode)) return statusFailure(call.statusCode, call);
  const code = chain.map(codeOf).find((found) => found !== undefined);
  if (code !== undefined) return unavailable(`the judge cannot be reached (${code})`);
  const why = chain.map(endOf).find((found) => found !== undefined);
  if (why === 'content-filter') return declined(AGAINST_RULES);
  if (why === 'length') return unavailable('the judge’s answer was cut off');
  return unavailable('the judge’s answer is not the JSON that was asked for');
}

function endOf(error: unknown): FinishReason | undefined {
  if (error instanceof UnfinishedAnswer) return error.why;
  return NoObjectGeneratedError.isInstance(error) ? error.finishReason : undefined;
}

function isTaken(status: number): boolean {
  return status >= 200 && status < 300;
}

function statusFailure(status: number, { responseBody, responseHeaders }: APICallError): AppError {
  const said = `the judge answered ${String(status)}`;
  if (status === 413) return declined(`${said}: ${TOO_LONG}`);
  const [, ofContent] = OF_CONTENT.find(([words]) => words.test(responseBody ?? '')) ?? [];
  if (ofContent !== undefined && (status === 400 || status === 422)) return declined(`${said}: ${ofContent}`);
  if (status >= 300 && status < 400) return refused(`${said}: redirects are not followed, check JUDGE_URL`);
  const why = REFUSALS.get(status);
  if (why !== undefined) return refused(`${said}: ${why}`);
  const retryAfterMs = retryAfterMsOf(responseHeaders?.['retry-after']);
  return unavailable(said, retryAfterMs === undefined ? {} : { facts: { retryAfterMs } });
}

function declined(message: string): AppError {
  return new AppError('judge_declined', message);
}

function refused(message: string): AppError {
  return new AppError('judge_refused', message);
}

function unavailable(message: string, options: { facts?: Record<string, unknown> } = {}): AppError {
  return new AppError('judge_unavailable', message, options);
}

/** As of the system and of TLS: upper case, no room for a secret. */
function codeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? code : undefined;
}

/** A cycle of causes must not hang us. */
function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at instanceof Error && chain.length < 6; at = at.cause) chain.push(at);
  return chain;
}
