import { z } from 'zod';
import { CODES } from '../../core/errors.js';

export const PROBLEM_TYPE = 'application/problem+json';

/** RFC 9457, with a code to act on. The object is loose, because a code may bring its own facts, such as the state of
 *  an item. */
export const Problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe(`A word to act on: ${Object.keys(CODES).join(', ')}; or a domain's own`),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    requestId: z.string(),
  })
  .meta({ id: 'Problem', description: 'Why a request was not answered' });
export type Problem = z.output<typeof Problem>;

const DESCRIPTIONS = {
  400: 'The request is not valid; `errors` names the fields',
  401: 'No valid token',
  403: 'The role does not allow it',
  404: 'Not found, or not yours',
  409: 'It conflicts with what is there',
  410: 'It is over: the time for it has passed, or it was cancelled or deleted',
  413: 'The body is too large',
  415: 'The body is not JSON',
  429: 'Too many requests; Retry-After says when to come back',
  500: 'A fault on our side',
  503: 'The database does not answer, or the server is overloaded or being stopped; Retry-After says when to come back',
} as const;
type ProblemStatus = keyof typeof DESCRIPTIONS;

/** The problems that every signed-in route may answer with. */
const COMMON = [400, 401, 403, 429, 500, 503] as const;

/** Response schemas of the problems a route may answer with, besides the problems that every route has. */
export function problems(...statuses: readonly ProblemStatus[]) {
  return Object.fromEntries([...COMMON, ...statuses].map((status) => [status, problemResponse(status)]));
}

/** The same for a route that anybody may call. */
export function openProblems(...statuses: readonly ProblemStatus[]) {
  const open = COMMON.filter((status) => status !== 401 && status !== 403);
  return Object.fromEntries([...open, ...statuses].map((status) => [status, problemResponse(status)]));
}

export function problemResponse(status: ProblemStatus) {
  return { description: DESCRIPTIONS[status], content: { [PROBLEM_TYPE]: { schema: Problem } } };
}
