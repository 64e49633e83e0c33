import { z } from 'zod';
import { AppError, isAppError } from '../../../core/errors.js';
import type { ItemHead } from '../../../db/reads/item-view.js';
import { findSubmission } from '../db/submissions.js';
import { callerOf } from '../../../api/http/access.js';
import type { App } from '../../../api/parts.js';
import type { Caller } from '../../../api/http/auth.js';
import { decide, type DecideDeps } from '../../../api/items/decide.js';
import { IdempotencyHeaders } from '../../../api/http/idempotency-key.js';
import { findVisible, type ReaderDeps } from '../../../api/items/item-reader.js';
import { ItemParams } from '../../../api/items/item-schema.js';
import { actorOf, noSuchItem } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { PriorityBody, reprioritize } from '../../../api/items/reprioritize.js';
import { retry } from '../../../api/items/retry.js';
import { answerForSubmission, type SubmissionReaderDeps } from './submission-reader.js';
import { SubmissionAnswer } from './submission-schema.js';
import { textUpTo } from '../../../api/http/text-up-to.js';

const Reason = textUpTo(2_000);
const OptionalReason = z.strictObject({ reason: Reason.optional() });
const ReasonBody = z.strictObject({ reason: Reason.describe('Told to the owner') });

const REVIEWERS = ['reviewer', 'admin'] as const;
const REVIEW_STATES = ['NEEDS_REVIEW', 'TIER3_REVIEW'] as const;

const response = { 200: SubmissionAnswer, ...problems(404, 409, 413, 415) };

/** The decisions of reviewers on a submission, and the actions of admins. */
export function addSubmissionReviewRoutes(app: App, deps: DecideDeps & SubmissionReaderDeps): void {
  addDecision('escalate', 'Escalate a submission in NEEDS_REVIEW to a reviewer', OptionalReason, ['NEEDS_REVIEW']);
  addDecision('approve', 'Approve a submission: it is published', OptionalReason, REVIEW_STATES);
  addDecision('reject', 'Reject a submission, with the reason that its owner is told', ReasonBody, REVIEW_STATES);

  function addDecision(
    action: 'escalate' | 'approve' | 'reject',
    summary: string,
    body: typeof OptionalReason | typeof ReasonBody,
    states: readonly string[],
  ): void {
    app.post(
      `/api/v1/admin/submissions/:id/${action}`,
      {
        config: { access: REVIEWERS },
        schema: {
          tags: ['submissions'],
          summary,
          params: ItemParams,
          headers: IdempotencyHeaders,
          body,
          response,
          ...(action === 'approve' && {
            description: 'In NEEDS_REVIEW it is escalated and approved at once, with an entry in the history for each.',
          }),
        },
      },
      async (request) => {
        const caller = callerOf(request);
        const head = await findSubmissionHead(deps, caller, request.params.id);
        const key = request.headers['idempotency-key'];
        const asked = { caller, head, reason: request.body.reason, key };
        const first = action === 'approve' && head.state === 'NEEDS_REVIEW' ? 'escalate' : undefined;
        await explainConflict(action, states, () => decide(deps, request.log, { ...asked, outcome: action, first }));
        return answerForSubmission(deps, caller, head.id);
      },
    );
  }

  app.post(
    '/api/v1/admin/submissions/:id/retry',
    {
      config: { access: ['admin'] },
      schema: {
        tags: ['submissions'],
        summary: 'Drive a submission on where it stands',
        description: 'Refused with 409 while it lives, and where it has ended: then with what to submit again.',
        params: ItemParams,
        body: OptionalReason,
        response,
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const head = await findSubmissionHead(deps, caller, request.params.id);
      await assertNotEnded(deps, head);
      await retry(deps, request.log, { ...request.body, itemId: head.id, actor: actorOf(caller) });
      return answerForSubmission(deps, caller, head.id);
    },
  );

  app.post(
    '/api/v1/admin/submissions/:id/reprioritize',
    {
      config: { access: ['admin'] },
      schema: {
        tags: ['submissions'],
        summary: 'Let a submission go sooner or later than others that wait',
        params: ItemParams,
        body: PriorityBody,
        response,
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { id } = await findSubmissionHead(deps, caller, request.params.id);
      await reprioritize(deps, request.log, { ...request.body, itemId: id, actor: actorOf(caller) });
      return answerForSubmission(deps, caller, id);
    },
  );
}

async function findSubmissionHead(deps: ReaderDeps, caller: Caller, id: string): Promise<ItemHead> {
  const head = await findVisible(deps, caller, id);
  if (head.pipeline !== 'submission') throw noSuchItem(id);
  return head;
}

/** If a decision comes too late or too early, the answer names the states in which it can be made. Only the transaction
 *  of the item's row knows this, because the same decision sent twice is accepted. */
async function explainConflict(action: string, states: readonly string[], decided: () => Promise<void>): Promise<void> {
  try {
    await decided();
  } catch (cause) {
    if (!isAppError(cause) || !['state_conflict', 'invalid_input'].includes(cause.code)) throw cause;
    const sentence = `only a submission in ${states.join(' or ')} can be answered with ${action}; ${cause.message}`;
    throw new AppError('state_conflict', sentence, { cause, ...(cause.facts && { facts: cause.facts }) });
  }
}

async function assertNotEnded({ pool, pipelines }: ReaderDeps, { id, state }: ItemHead): Promise<void> {
  const row = pipelines['submission']?.states[state];
  if (!row || !('ends' in row)) return;
  const { repoUrl, skillName, skillPath, ref } = await findSubmission(pool, id);
  const sentence = `submission ${id} ended in ${state}, which never changes; submit the skill again with POST /api/v1/submissions`;
  throw new AppError('state_conflict', sentence, {
    facts: { state, submitAgain: { repoUrl, skillName, skillPath: skillPath === '' ? '.' : skillPath, ref } },
  });
}
