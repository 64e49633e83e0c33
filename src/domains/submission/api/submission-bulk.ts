import { z } from 'zod';
import { isAppError } from '../../../core/errors.js';
import type { Answer } from '../../../db/spine/idempotency.js';
import type { JsonObject } from '../../../ports/stage.js';
import { callerOf } from '../../../api/http/access.js';
import type { App } from '../../../api/parts.js';
import type { Caller } from '../../../api/http/auth.js';
import { acceptItems, type Intake } from '../../../api/items/accept-items.js';
import { IdempotencyHeaders } from '../../../api/http/idempotency-key.js';
import { pipelineOf } from '../../../api/items/item-reader.js';
import { WRITERS } from '../../../api/http/permissions.js';
import { problems } from '../../../api/http/problem.js';
import { SubmissionAccepted, SubmissionBody } from './submission-schema.js';
import { type Asked, askedOf, type SubmitDeps, type SubmitRules, submitSkill, withLink } from './submit-skill.js';

/** As many entries as one transaction takes well below a second for. */
const MAX_ENTRIES = 200;

const Body = z.strictObject({
  entries: z
    .array(z.looseObject({}))
    .min(1)
    .max(MAX_ENTRIES)
    .describe('Each as the body of POST /api/v1/submissions; a wrong entry does not keep the others back'),
});

const Result = z.object({
  index: z.int(),
  result: z.enum(['accepted', 'duplicate', 'alreadyVerified', 'refused']),
  submission: SubmissionAccepted.nullable(),
  errors: z
    .array(z.object({ path: z.string(), message: z.string() }))
    .nullable()
    .describe('Of a refused entry: the wrong fields, or the limit of live submissions that it exceeds'),
});

const Results = z.object({ accepted: z.int(), results: z.array(Result).describe('In the order of the entries') });

const KeptSubmission = SubmissionAccepted.omit({ statusUrl: true });
const Kept = Results.extend({ results: z.array(Result.extend({ submission: KeptSubmission.nullable() })) });

type Outcome = Pick<z.output<typeof Result>, 'result' | 'errors'> & { submission: JsonObject | null };

export function addSubmissionBulkRoute(app: App, deps: SubmitDeps): void {
  app.post(
    '/api/v1/submissions/bulk',
    {
      config: { access: WRITERS },
      schema: {
        tags: ['submissions'],
        summary: `Submit up to ${MAX_ENTRIES} skills, each with a result of its own`,
        description:
          'Committed together: a request that is not answered with 200 has submitted none of them. ' +
          'No repository is asked whether a published skill has changed; only a `ref` that is a commit id is answered with `alreadyVerified`.',
        headers: IdempotencyHeaders,
        body: Body,
        response: { 200: Results, ...problems(409, 413, 415) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { body, headers } = request;
      const bringing = {
        log: request.log,
        caller,
        route: 'POST /api/v1/submissions/bulk',
        key: headers['idempotency-key'],
        body,
        brings: 'many',
      } as const;
      const entries = body.entries.map((entry, index) => checkEntry(entry, index, { caller, rules: deps.submission }));
      const { body: kept } = await acceptItems(deps, bringing, (intake) =>
        submitAll(intake, deps, { caller, entries }),
      );
      const { accepted, results } = Kept.parse(kept);
      const shown = results.map((each) => ({
        ...each,
        submission: each.submission && withLink(deps.links, each.submission),
      }));
      return { accepted, results: shown };
    },
  );
}

type Entry = { index: number; asked: Asked } | { index: number; errors: { path: string; message: string }[] };

function checkEntry(entry: object, index: number, { caller, rules }: { caller: Caller; rules: SubmitRules }): Entry {
  const { data, error } = SubmissionBody.safeParse(entry);
  if (error) {
    return { index, errors: error.issues.map(({ path, message }) => ({ path: path.map(String).join('.'), message })) };
  }
  try {
    return { index, asked: askedOf(data, caller, rules) };
  } catch (failure) {
    return { index, errors: errorsOf(failure) };
  }
}

/** Submits in the order of the keys, not in the caller's order: two requests that submit the same skills at once must
 *  not wait for each other. The dispatcher starts all items, the most important first. */
async function submitAll(
  intake: Intake,
  deps: SubmitDeps,
  { caller, entries }: { caller: Caller; entries: readonly Entry[] },
): Promise<Answer> {
  const results: (Outcome & { index: number })[] = entries.flatMap((entry) =>
    'errors' in entry ? [{ index: entry.index, result: 'refused', submission: null, errors: entry.errors }] : [],
  );
  const sound = entries.flatMap((entry) => ('asked' in entry ? [entry] : []));
  sound.sort((a, b) => (a.asked.dedupeKey < b.asked.dedupeKey ? -1 : 1));
  const pipeline = pipelineOf(deps, 'submission');
  for (const { index, asked } of sound) {
    const result = await submitSkill(intake, { ...deps, pipeline, caller, asked }).then(acceptedAs, refusedAs);
    results.push({ index, ...result });
  }
  results.sort((a, b) => a.index - b.index);
  return { status: 200, body: { accepted: results.filter(({ result }) => result === 'accepted').length, results } };
}

function acceptedAs({ body }: Answer): Outcome {
  return { result: resultOf(body), submission: body, errors: null };
}

function resultOf({ duplicate, alreadyVerified }: JsonObject): Outcome['result'] {
  if (duplicate === true) return 'duplicate';
  return alreadyVerified === true ? 'alreadyVerified' : 'accepted';
}

function refusedAs(failure: unknown): Outcome {
  return { result: 'refused', submission: null, errors: errorsOf(failure) };
}

/** The faults of an entry. Any other error is our own fault, and fails the whole request. */
function errorsOf(failure: unknown): { path: string; message: string }[] {
  if (!isAppError(failure) || !(failure.kind === 'invalid' || failure.code === 'too_many_live')) throw failure;
  return (failure.errors ?? [{ path: '', message: failure.message }]).map(({ path, message }) => ({ path, message }));
}
