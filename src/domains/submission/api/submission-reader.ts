import { isReviewOverdue, reviewDueAt } from '../core/sla.js';
import { publicStatusOf } from '../core/verdict/submission-status.js';
import { findReviewStarts, type ReviewStart } from '../db/overdue-reviews.js';
import { findStatus } from '../db/submission-status.js';
import { findSubmissionRecord } from '../db/submission-view.js';
import type { Caller } from '../../../api/http/auth.js';
import { answerFor, type ReaderDeps } from '../../../api/items/item-reader.js';
import { findQueuePlace } from '../../../api/items/queue-place.js';
import { noSuchItem } from '../../../api/http/permissions.js';
import { submissionAnswer } from './submission-answer.js';
import type { SubmissionAnswer } from './submission-schema.js';

/** The whole answer to a caller who may see the submission. */
export async function answerForSubmission(deps: ReaderDeps, caller: Caller, id: string): Promise<SubmissionAnswer> {
  const item = await answerFor(deps, caller, id);
  const [record, status, reviews, queue] = await Promise.all([
    findSubmissionRecord(deps.pool, id),
    findStatus(deps.pool, id),
    findReviewStarts(deps.pool, [id]),
    findQueuePlace(deps, item),
  ]);
  if (!record || !status) throw noSuchItem(id);
  return { ...submissionAnswer(item, record, publicStatusOf(status)), queue, review: reviewOf(reviews.get(id)) };
}

function reviewOf(start: ReviewStart | undefined): SubmissionAnswer['review'] {
  if (!start) return null;
  const { since } = start;
  const overdue = isReviewOverdue(start);
  return { since: since.toISOString(), dueAt: reviewDueAt(since).toISOString(), overdue };
}
