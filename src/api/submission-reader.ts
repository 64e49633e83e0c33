import { toldOf } from '../core/submission-status.js';
import { findStatus } from '../db/submission-status.js';
import { findSubmissionRecord } from '../db/submission-view.js';
import type { Caller } from './auth.js';
import { answerFor, type ReaderDeps } from './item-reader.js';
import { noSuchItem } from './permissions.js';
import { submissionAnswer } from './submission-answer.js';
import type { SubmissionAnswer } from './submission-schema.js';

/** The whole answer to a caller who may see the submission. */
export async function answerForSubmission(deps: ReaderDeps, caller: Caller, id: string): Promise<SubmissionAnswer> {
  const item = await answerFor(deps, caller, id);
  const [record, status] = await Promise.all([findSubmissionRecord(deps.pool, id), findStatus(deps.pool, id)]);
  if (!record || !status) throw noSuchItem(id);
  return submissionAnswer(item, record, toldOf(status));
}
