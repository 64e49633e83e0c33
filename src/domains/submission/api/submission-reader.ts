import { isReviewOverdue, reviewDueAt, type SlaTargets } from '../core/sla.js';
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

export type SubmissionReaderDeps = ReaderDeps & { sla: SlaTargets };

/** The whole answer to a caller who may see the submission. */
export async function answerForSubmission(
  deps: SubmissionReaderDeps,
  caller: Caller,
  id: string,
): Promise<SubmissionAnswer> {
  const item = await answerFor(deps, caller, id);
  const [record, status, reviews, queue] = await Promise.all([
    findSubmissionRecord(deps.pool, id),
    findStatus(deps.pool, id),
    findReviewStarts(deps.pool, [id]),
    findQueuePlace(deps, item),
  ]);
  if (!record || !status) throw noSuchItem(id);
  const review = reviewOf(reviews.get(id), deps.sla);
  return { ...submissionAnswer(item, record, publicStatusOf(status)), queue, review };
}

function reviewOf(start: ReviewStart | undefined, sla: SlaTargets): SubmissionAnswer['review'] {
  if (!start) return null;
  const { since } = start;
  const overdue = isReviewOverdue(start, sla);
  return { since: since.toISOString(), dueAt: reviewDueAt(since, sla).toISOString(), overdue };
}
