import { AppError } from '../../../core/errors.js';
import type { Pipeline } from '../../../core/pipeline.js';
import {
  type AddressRules,
  canonicalUrl,
  checkAddress,
  isCommitId,
  skillKey,
  vendorIn,
} from '../core/address/skill-address.js';
import type { Answer } from '../../../db/spine/idempotency.js';
import { findSubmissionHead, findVerified, type SubmissionHead } from '../db/submission-view.js';
import { type NewSubmission, submissionRow } from '../db/submissions.js';
import { SYSTEM } from '../../../db/spine/transition.js';
import type { JsonObject } from '../../../ports/stage.js';
import type { SkillHeads } from '../ports/skill.js';
import type { Caller } from '../../../api/http/auth.js';
import type { Intake } from '../../../api/items/accept-items.js';
import type { ReaderDeps } from '../../../api/items/item-reader.js';
import { hasRole, maySee } from '../../../api/http/permissions.js';
import type { StatusLinks } from '../../../api/items/status-links.js';
import type { SubmissionBody } from './submission-schema.js';
import { type VerdictAddress, verdictAddressOf } from './verdict-address.js';

/** The addresses that skills may be submitted from, and the vendors whose skills are taken on trust. */
export interface SubmitRules {
  address: AddressRules;
  vendors: readonly string[];
}

export type SubmitDeps = ReaderDeps & {
  submission: SubmitRules;
  sendsMail: boolean;
  links: StatusLinks;
  heads: SkillHeads;
};

/** A submission whose every field was checked. */
export interface Asked {
  submission: NewSubmission;
  dedupeKey: string;
  /** Set if `ref` is the id of a commit. A skill can then only be answered with a version that was published from that
   *  commit. */
  commit: string | null;
  mailTo: VerdictAddress;
}

export function askedOf(body: SubmissionBody, caller: Caller, { address, vendors }: SubmitRules): Asked {
  const commit = body.ref !== undefined && isCommitId(body.ref) ? body.ref : null;
  const checked = checkAddress(commit === null ? body : { ...body, ref: undefined }, address);
  const { skillName, skillPath, ref } = checked;
  const repoUrl = canonicalUrl(checked.repository);
  const isVendor = vendorIn(repoUrl, { ...address, vendors }) !== null;
  const mailTo = verdictAddressOf(caller, body.email);
  const email = 'email' in mailTo ? mailTo.email : undefined;
  return {
    submission: { repoUrl, skillName, skillPath, ref, email, isVendor },
    dedupeKey: skillKey(checked),
    commit,
    mailTo,
  };
}

interface Submitting {
  sendsMail: boolean;
  pipeline: Pipeline;
  caller: Caller;
  asked: Asked;
  /** The submission that published the commit that the skill's branch still has. */
  unchanged?: SubmissionHead | null;
}

export async function submitSkill(intake: Intake, submitting: Submitting): Promise<Answer> {
  const { sendsMail, pipeline, caller, asked, unchanged } = submitting;
  const { submission, dedupeKey, commit, mailTo } = asked;
  if (commit !== null) {
    const verified = await findVerified(intake.sql, { ...submission, commit });
    if (!verified) throw notPublished();
    return verifiedAnswer(caller, verified);
  }
  if (unchanged) return verifiedAnswer(caller, unchanged);
  const { id, created } = await intake.create(pipeline, {
    actor: SYSTEM,
    trigger: 'api-submission',
    dedupeKey,
    row: submissionRow(submission),
  });
  const head = await findSubmissionHead(intake.sql, id);
  if (!created) return { status: 200, body: duplicateOf(caller, submission, head) };
  return { status: 202, body: { ...shownTo(caller, head), verdictMail: verdictMailOf(mailTo, sendsMail) } };
}

function verifiedAnswer(caller: Caller, verified: SubmissionHead): Answer {
  return { status: 200, body: { ...shownTo(caller, verified), verdictMail: 'not_taken', alreadyVerified: true } };
}

/** Names the ref and the folder that are examined, because the first submitter may have asked for others. */
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

function verdictMailOf(mailTo: VerdictAddress, sendsMail: boolean) {
  if ('missing' in mailTo) return mailTo.missing;
  return sendsMail ? 'will_be_sent' : 'not_configured';
}

function notPublished(): AppError {
  const message = 'must be a branch or a tag; this commit is not one that the skill was published from';
  return new AppError('invalid_input', `ref ${message}`, { errors: [{ path: 'ref', message }] });
}

/** A caller who may not read the submission learns that it exists, but neither its id nor its link. */
function shownTo(caller: Caller, head: SubmissionHead) {
  const { state, isVendor, createdAt } = head;
  return { id: maySee(caller, head) ? head.id : null, state, isVendor, createdAt: createdAt.toISOString() };
}

/** The link is not stored with the answer under the idempotency key, because a reader of that table could then follow
 *  it. */
export function withLink<Kept extends { id: string | null }>(links: StatusLinks, kept: Kept) {
  return { ...kept, statusUrl: kept.id === null ? null : links.statusUrlOf(kept.id) };
}
