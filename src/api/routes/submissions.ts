import { AppError } from '../../core/errors.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { RunInput } from '../../core/run.js';
import { canonicalUrl, checkedAddress, isCommitId, skillKey, vendorIn } from '../../core/skill-address.js';
import { type Answer, answerOnce } from '../../db/idempotency.js';
import { createItem } from '../../db/items.js';
import { findSubmissionHead, findVerified, type SubmissionHead } from '../../db/submission-view.js';
import { type NewSubmission, submissionRow } from '../../db/submissions.js';
import { SYSTEM } from '../../db/transition.js';
import type { Sql } from '../../ports/sql.js';
import { callerOf } from '../access.js';
import type { ApiSettings, App } from '../app.js';
import type { Caller } from '../auth.js';
import { IdempotencyHeaders } from '../idempotency-key.js';
import { pipelineOf, type ReaderDeps } from '../item-reader.js';
import { ItemParams } from '../item-schema.js';
import { WRITERS } from '../permissions.js';
import { problems } from '../problem.js';
import type { StatusLinks } from '../status-links.js';
import { answerForSubmission } from '../submission-reader.js';
import { SubmissionAccepted, SubmissionAnswer, SubmissionBody } from '../submission-schema.js';
import { tellEngine } from '../tell-engine.js';

const TAGS = ['submissions'];

type Deps = ReaderDeps & Pick<ApiSettings, 'submission' | 'sendsMail'> & { links: StatusLinks };

export function addSubmissionRoutes(app: App, deps: Deps): void {
  app.post(
    '/api/v1/submissions',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Submit a skill: it is scanned, judged, perhaps reviewed, and published or rejected',
        description:
          'A skill that is on its way already is answered with 200 and `duplicate`. A `ref` that is a whole commit id is answered ' +
          'with 200 and `alreadyVerified` where the skill was published from that commit, and refused otherwise: a host serves ' +
          'the commits of every fork, so only branches and tags are fetched. What a branch leads to is seen when it is fetched; ' +
          'content that was published before is then no new version.',
        headers: IdempotencyHeaders,
        body: SubmissionBody,
        response: { 200: SubmissionAccepted, 202: SubmissionAccepted, ...problems(409, 413, 415) },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { body, headers } = request;
      const asked = askedOf(body, deps.submission);
      const key = headers['idempotency-key'];
      const runs: RunInput[] = [];
      const submitting = { ...deps, pipeline: pipelineOf(deps, 'submission'), caller, asked, runs };
      const keyed = { caller: caller.sub, route: 'POST /api/v1/submissions', key, body };
      const answer = await answerOnce(deps.pool, keyed, (sql) => submit(sql, submitting));
      for (const run of runs) await tellEngine(request.log, () => deps.engine.start(run));
      const kept = SubmissionAccepted.omit({ statusUrl: true }).parse(answer.body);
      // Not kept with the answer under its key: whoever reads the table could follow it.
      const statusUrl = deps.links.statusUrlOf(kept.id);
      return reply.code(answer.status === 202 ? 202 : 200).send({ ...kept, statusUrl });
    },
  );

  app.get(
    '/api/v1/submissions/:id',
    {
      schema: {
        tags: TAGS,
        summary: 'A submission: where it is, what was found, how it was judged, and what comes next',
        params: ItemParams,
        response: { 200: SubmissionAnswer, ...problems(404) },
      },
    },
    (request) => answerForSubmission(deps, callerOf(request), request.params.id),
  );
}

/** A submission whose every field was checked. */
interface Asked {
  submission: NewSubmission;
  dedupeKey: string;
  /** Set where `ref` is one: then only what was published from it can be answered. */
  commit: string | null;
}

function askedOf(body: SubmissionBody, { address, vendors }: ApiSettings['submission']): Asked {
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

interface Submitting {
  sendsMail: boolean;
  pipeline: Pipeline;
  caller: Caller;
  asked: Asked;
  /** Filled with what is to be started after the commit. */
  runs: RunInput[];
}

async function submit(sql: Sql, { sendsMail, pipeline, caller, asked, runs }: Submitting): Promise<Answer> {
  const { submission, dedupeKey, commit } = asked;
  if (commit !== null) {
    const verified = await findVerified(sql, { ...submission, commit });
    if (!verified) throw notPublished();
    return { status: 200, body: { ...acceptedOf(verified), verdictMail: 'not_taken', alreadyVerified: true } };
  }
  const created = await createItem(sql, pipeline, {
    owner: caller.sub,
    actor: SYSTEM,
    trigger: 'api-submission',
    dedupeKey,
    row: submissionRow(submission),
  });
  if (created.created && created.run) runs.push(created.run);
  const accepted = acceptedOf(await findSubmissionHead(sql, created.id));
  return created.created
    ? { status: 202, body: { ...accepted, verdictMail: verdictMailOf(submission, sendsMail) } }
    : { status: 200, body: { ...accepted, verdictMail: 'not_taken', duplicate: true } };
}

function verdictMailOf({ email }: NewSubmission, sendsMail: boolean) {
  if (email === undefined) return 'no_address';
  return sendsMail ? 'will_be_sent' : 'not_configured';
}

function notPublished(): AppError {
  const message = 'must be a branch or a tag; this commit is not one that the skill was published from';
  return new AppError('invalid_input', `ref ${message}`, { errors: [{ path: 'ref', message }] });
}

function acceptedOf({ id, state, isVendor, createdAt }: SubmissionHead) {
  return { id, state, isVendor, createdAt: createdAt.toISOString() };
}
