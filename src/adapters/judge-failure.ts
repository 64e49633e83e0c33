import { APICallError, NoObjectGeneratedError } from 'ai';
import { AppError } from '../core/errors.js';
import { OversizedAnswer } from './judge-fetch.js';
import { retryAfterMsOf } from './retry-after.js';

/** What each refusal means to whoever runs the installation. */
const REFUSALS: ReadonlyMap<number, string> = new Map([
  [400, 'it does not understand our request: check JUDGE_MODEL and JUDGE_ANSWER_FORMAT'],
  [401, 'it does not accept the key: check JUDGE_API_KEY'],
  [402, 'it asks for payment'],
  [403, 'the key may not be used for this: check JUDGE_API_KEY and JUDGE_MODEL'],
  [404, 'there is no such address or model: check JUDGE_URL and JUDGE_MODEL'],
  [405, 'this is no address of a model: check JUDGE_URL'],
  [413, 'the skill is too large for it'],
  [422, 'it does not understand our request: check JUDGE_MODEL and JUDGE_ANSWER_FORMAT'],
]);

/** Why there is no judgement. The error of the SDK is not kept as its cause, and nothing of what the server said is repeated:
 *  both hold the skill's content, and some servers repeat the key. */
export function judgeFailure(error: unknown, timedOut: boolean, stopped: boolean): AppError {
  if (stopped) return unavailable('stopped before the judge had answered');
  if (timedOut) return unavailable('the judge did not answer in time');
  const chain = causesOf(error);
  if (chain.some((each) => each instanceof OversizedAnswer)) return unavailable('the judge’s answer was too large');
  const call = chain.find((each) => APICallError.isInstance(each));
  if (call?.statusCode !== undefined && !isTaken(call.statusCode))
    return statusFailure(call.statusCode, call.responseHeaders);
  const code = chain.map(codeOf).find((found) => found !== undefined);
  if (code !== undefined) return unavailable(`the judge cannot be reached (${code})`);
  const object = chain.find((each) => NoObjectGeneratedError.isInstance(each));
  return unavailable(answerProblem(object?.finishReason));
}

function isTaken(status: number): boolean {
  return status >= 200 && status < 300;
}

function statusFailure(status: number, headers: Record<string, string> | undefined): AppError {
  const said = `the judge answered ${String(status)}`;
  if (status >= 300 && status < 400) return refused(`${said}: redirects are not followed, check JUDGE_URL`);
  const why = REFUSALS.get(status);
  if (why !== undefined) return refused(`${said}: ${why}`);
  const retryAfterMs = retryAfterMsOf(headers?.['retry-after']);
  return unavailable(said, retryAfterMs === undefined ? {} : { facts: { retryAfterMs } });
}

function answerProblem(finishReason: string | undefined): string {
  if (finishReason === 'content-filter') return 'the judge declined to answer';
  if (finishReason === 'length') return 'the judge’s answer was cut off';
  return 'the judge’s answer is not the JSON that was asked for';
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
