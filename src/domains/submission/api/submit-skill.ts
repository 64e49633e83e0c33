import { AppError } from '../../../core/errors.js';
import type { Pipeline } from '../../../core/pipeline.js';
import type { RunInput } from '../../../core/run.js';
import { canonicalUrl, checkedAddress, isCommitId, skillKey, vendorIn } from '../core/address/skill-address.js';
import type { Answer } from '../../../db/spine/idempotency.js';
import { createItem, findDuplicate } from '../../../db/spine/items.js';
import { countRoom } from '../../../db/submission-room.js';
import { findSubmissionHead, findVerified, type SubmissionHead } from '../db/submission-view.js';
import { type NewSubmission, submissionRow } from '../db/submissions.js';
import { SYSTEM } from '../../../db/spine/transition.js';
import type { Sql } from '../../../ports/sql.js';
import type { JsonObject } from '../../../ports/stage.js';
import type { ApiSettings } from '../../../api/app.js';
import type { Caller } from '../../../api/http/auth.js';
import type { ReaderDeps } from '../../../api/items/item-reader.js';
import { hasRole, maySee } from '../../../api/http/permissions.js';
import type { StatusLinks } from '../../../api/items/status-links.js';
import type { SubmissionBody } from './submission-schema.js';

export type SubmitDeps = ReaderDeps & Pick<ApiSettings, 'submission' | 'sendsMail'> & { links: StatusLinks };

/** A submission whose every field was checked. */
export interface Asked {
  submission: NewSubmission;
  dedupeKey: string;
  /** Set where `ref` is one: then only what was published from it can be answered. */
  commit: string | null;
}

export function askedOf(body: SubmissionBody, { address, vendors }: ApiSettings['submission']): Asked {
  const commit = body.ref !== undefined && isCommitId(body.ref) ? body.ref : null;
  const checked = checkedAddress(commit === null ? body : { ...body, ref: undefined }, address);
  const { skillName, skillPath, ref } = checked;
  const repoUrl = canonicalUrl(checked.repository);
  const isVendor = vendorIn(repoUrl, { ...address, vendors }) !== null;
  return {
    submission: { repoUrl, skillName, skillPath, ref, email: body.email, isVendor },
    dedupeKey: skillKey(checked),
    commit,
  };
}

/** How many more the caller may have on their way. One request after another looks for itself, so that as many may be too many
 *  as a caller has requests in flight at once; a bulk holds a lock and counts down. */
export interface Room {
  left: number;
  max: number;
}

/** Admins submit for others, and are not limited. */
export async function roomFor(sql: Sql, caller: Caller, max: number): Promise<Room> {
  if (hasRole(caller, 'admin')) return { left: Infinity, max };
  return { left: await countRoom(sql, caller.sub, max), max };
}

interface Submitting {
  sendsMail: boolean;
  pipeline: Pipeline;
  caller: Caller;
  asked: Asked;
  room: Room;
  /** Filled with what is to be started after the commit; left out where the dispatcher starts it. */
  runs?: RunInput[];
}

export async function submit(sql: Sql, submitting: Submitting): Promise<Answer> {
  const { sendsMail, pipeline, caller, asked, room, runs } = submitting;
  const { submission, dedupeKey, commit } = asked;
  if (commit !== null) {
    const verified = await findVerified(sql, { ...submission, commit });
    if (!verified) throw notPublished();
    const shown = shownTo(caller, verified);
    return { status: 200, body: { ...shown, verdictMail: 'not_taken', alreadyVerified: true } };
  }
  // What is there already needs no room.
  const created =
    room.left > 0
      ? await createItem(sql, pipeline, {
          owner: caller.sub,
          actor: SYSTEM,
          trigger: 'api-submission',
          dedupeKey,
          row: submissionRow(submission),
        })
      : await findDuplicate(sql, pipeline, { dedupeKey });
  if (!created) throw noRoom(room);
  if (created.created) room.left -= 1;
  if (created.created && created.run) runs?.push(created.run);
  const head = await findSubmissionHead(sql, created.id);
  if (!created.created) return { status: 200, body: duplicateOf(caller, submission, head) };
  return { status: 202, body: { ...shownTo(caller, head), verdictMail: verdictMailOf(submission, sendsMail) } };
}

/** Says what is examined, for whoever was first may have asked for another branch or folder. */
function duplicateOf(caller: Caller, asked: NewSubmission, pending: SubmissionHead): JsonObject {
  const { ref, skillPath } = pending;
  const isOther = ref !== (asked.ref ?? null) || skillPath !== (asked.skillPath ?? null);
  const examined = isOther ? ' It examines another ref or skillPath than yours: see both here.' : '';
  const shown = shownTo(caller, pending);
  const where =
    shown.id === null
      ? `Somebody else has submitted this skill. Once published it is among GET /api/v1/skills?q=${encodeURIComponent(asked.skillName)}`
      : `It is on its way as ${shown.id}${cancelHint(caller, pending)}`;
  const nextAction = `${where}; submit again when it has ended, if it is not what you want.${examined}`;
  return { ...shown, verdictMail: 'not_taken', duplicate: true, ref, skillPath, nextAction };
}

function cancelHint(caller: Caller, { id, owner }: SubmissionHead): string {
  const mayCancel = owner === caller.sub || hasRole(caller, 'admin');
  return mayCancel ? ` (POST /api/v1/items/${id}/cancel cancels it)` : '';
}

function noRoom({ max }: Room): AppError {
  const message = `is one too many: ${String(max)} of your submissions are on their way; submit it when some have ended, or cancel some`;
  return new AppError('too_many_live', `this submission ${message}`, {
    errors: [{ path: 'repoUrl', message }],
    facts: { maxLive: max },
  });
}

function verdictMailOf({ email }: NewSubmission, sendsMail: boolean) {
  if (email === undefined) return 'no_address';
  return sendsMail ? 'will_be_sent' : 'not_configured';
}

function notPublished(): AppError {
  const message = 'must be a branch or a tag; this commit is not one that the skill was published from';
  return new AppError('invalid_input', `ref ${message}`, { errors: [{ path: 'ref', message }] });
}

/** Whoever may not read a submission learns that it is there, and neither its id nor its link. */
function shownTo(caller: Caller, head: SubmissionHead) {
  const { state, isVendor, createdAt } = head;
  return { id: maySee(caller, head) ? head.id : null, state, isVendor, createdAt: createdAt.toISOString() };
}

/** Not kept with the answer under its key: whoever reads the table could follow it. */
export function withLink<Kept extends { id: string | null }>(links: StatusLinks, kept: Kept) {
  return { ...kept, statusUrl: kept.id === null ? null : links.statusUrlOf(kept.id) };
}
