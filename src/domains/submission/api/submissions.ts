import { acceptItems } from '../../../api/items/accept-items.js';
import { callerOf } from '../../../api/http/access.js';
import type { App } from '../../../api/parts.js';
import { IdempotencyHeaders } from '../../../api/http/idempotency-key.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { ItemParams } from '../../../api/items/item-schema.js';
import { WRITERS } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { findUnchanged } from './find-unchanged.js';
import { answerForSubmission, type SubmissionReaderDeps } from './submission-reader.js';
import { SubmissionAccepted, SubmissionAnswer, SubmissionBody } from './submission-schema.js';
import { askedOf, type SubmitDeps, submitSkill, withLink } from './submit-skill.js';

const TAGS = ['submissions'];

export function addSubmissionRoutes(app: App, deps: SubmitDeps & SubmissionReaderDeps): void {
  app.post(
    '/api/v1/submissions',
    {
      config: { access: WRITERS },
      schema: {
        tags: TAGS,
        summary: 'Submit a skill: it is scanned, judged, perhaps reviewed, and published or rejected',
        description:
          'A new submission is answered with 202. ' +
          'A skill that is being examined already is answered with 200 and `duplicate`; only its first submitter and operators get its id and link. ' +
          'A published skill whose branch still has the published commit is answered with 200 and `alreadyVerified`; where its repository does not answer within two seconds, it is examined again. ' +
          'A `ref` that is a whole commit id is answered with 200 and `alreadyVerified` where the skill was published from that commit. ' +
          'Any other commit id is refused, because a host serves the commits of every fork; name a branch or a tag. ' +
          'A caller with too many live submissions is refused with 429 and `too_many_live`.',
        headers: IdempotencyHeaders,
        body: SubmissionBody,
        response: { 200: SubmissionAccepted, 202: SubmissionAccepted, ...problems(409, 413, 415) },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { body, headers } = request;
      const asked = askedOf(body, caller, deps.submission);
      const bringing = {
        log: request.log,
        caller,
        route: 'POST /api/v1/submissions',
        key: headers['idempotency-key'],
        body,
        brings: 'one',
      } as const;
      const pipeline = pipelineOf(deps, 'submission');
      // Before the transaction, which must not wait for another server.
      const unchanged = asked.commit === null ? await findUnchanged(deps, asked.submission) : null;
      const answer = await acceptItems(deps, bringing, (intake) =>
        submitSkill(intake, { ...deps, pipeline, caller, asked, unchanged }),
      );
      const kept = SubmissionAccepted.omit({ statusUrl: true }).parse(answer.body);
      return reply.code(answer.status === 202 ? 202 : 200).send(withLink(deps.links, kept));
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
