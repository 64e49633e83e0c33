import { z } from 'zod';
import { AppError } from '../../../core/errors.js';
import type { Pipeline } from '../../../core/pipeline.js';
import { isReviewOverdue, type SlaTargets } from '../core/sla.js';
import { findReviewStarts, type ReviewStart } from '../db/overdue-reviews.js';
import {
  isExactSubmissionFilter,
  type ListedSubmission,
  scanSubmissions,
  type SubmissionFilter,
} from '../db/submission-list.js';
import { callerOf } from '../../../api/http/access.js';
import type { ApiParts, App } from '../../../api/parts.js';
import type { Caller } from '../../../api/http/auth.js';
import { cursorOf, positionIn } from '../../../api/http/cursor.js';
import { Degraded } from '../../../api/items/degraded.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { hasRole, OPERATORS } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { textUpTo } from '../../../api/http/text-up-to.js';

/** Rows one request looks at: some milliseconds. */
const EXAMINED = 2_000;

const Query = z.strictObject({
  state: textUpTo(100).optional(),
  owner: textUpTo(200).optional().describe('A user sees only their own, whatever is asked for'),
  q: textUpTo(200).optional().describe('Part of a skill’s name or of its repository’s address'),
  sort: z.enum(['newest', 'oldest']).default('newest'),
  cursor: z.string().max(500).optional().describe('`nextCursor` of the page before'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
});

const Time = z.iso.datetime();

const Line = z.object({
  id: z.uuid(),
  owner: z.string(),
  state: z.string(),
  skillName: z.string(),
  repoUrl: z.string(),
  isVendor: z.boolean(),
  score: z.number().nullable().describe('The judge’s; null: it was not judged'),
  priority: z.int(),
  createdAt: Time,
  enteredAt: Time.describe('When it came to its present state'),
  endedAt: Time.nullable(),
  endReason: z.string().nullable(),
  overdue: z.boolean().describe('It has waited for a person for longer than the typical target for reviews'),
});

const Answer = z.object({
  submissions: z.array(Line),
  nextCursor: z
    .string()
    .nullable()
    .describe('Where to go on. A page may be short, or empty, and yet have one: the work for one request is bounded'),
  degraded: Degraded,
});

type ListDeps = Pick<ApiParts, 'pool' | 'pipelines' | 'engineHealth'> & { sla: SlaTargets };

export function addSubmissionListRoute(app: App, deps: ListDeps): void {
  const { pool, sla } = deps;
  app.get(
    '/api/v1/submissions',
    {
      schema: {
        tags: ['submissions'],
        summary: 'Submissions: an operator sees all, a user their own',
        querystring: Query,
        response: { 200: Answer, ...problems() },
      },
    },
    async (request) => {
      const { cursor, limit, ...asked } = request.query;
      assertState(asked.state, pipelineOf(deps, 'submission'));
      const behind = positionIn(cursor, asked, isUuid);
      const degraded = !(await deps.engineHealth.isThere());
      const filter = filterFor(callerOf(request), asked);
      if (!filter) return { submissions: [], nextCursor: null, degraded };
      const examine = isExactSubmissionFilter(filter) ? limit + 1 : EXAMINED;
      const scan = await scanSubmissions(pool, filter, { sort: asked.sort, behind, examine, take: limit + 1 });
      const submissions = scan.submissions.slice(0, limit);
      // After a full page the next page begins behind its last item, after a short page behind the last row that was read.
      const behindLooked = scan.examined >= examine ? scan.lastId : null;
      const position = scan.submissions.length > limit ? submissions.at(-1)?.id : behindLooked;
      const reviews = await findReviewStarts(
        pool,
        submissions.map(({ id }) => id),
      );
      const lines = submissions.map((each) => lineOf(each, reviews.get(each.id), sla));
      return { submissions: lines, nextCursor: position ? cursorOf(position, asked) : null, degraded };
    },
  );
}

function assertState(state: string | undefined, { states }: Pipeline): void {
  if (state === undefined || Object.hasOwn(states, state)) return;
  const message = `must be one of ${Object.keys(states).join(', ')}`;
  throw new AppError('invalid_input', `state ${message}`, { errors: [{ path: 'state', message }] });
}

/** Null: nothing can fit. */
function filterFor(caller: Caller, { state, owner, q }: SubmissionFilter): SubmissionFilter | null {
  if (hasRole(caller, ...OPERATORS)) return { state, owner, q };
  return owner === undefined || owner === caller.sub ? { state, owner: caller.sub, q } : null;
}

function lineOf(listed: ListedSubmission, review: ReviewStart | undefined, sla: SlaTargets): z.output<typeof Line> {
  const { createdAt, enteredAt, endedAt, ...line } = listed;
  return {
    ...line,
    overdue: review !== undefined && isReviewOverdue(review, sla),
    createdAt: createdAt.toISOString(),
    enteredAt: enteredAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}

function isUuid(position: string): boolean {
  return z.uuid().safeParse(position).success;
}
