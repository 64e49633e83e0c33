import { z } from 'zod';
import { CRITERIA } from '../core/judgement/judgement.js';
import { isMailAddress } from '../../../core/mail-address.js';
import { PRIVILEGES, type PrivilegeKind } from '../core/judgement/privilege.js';
import { SEVERITIES } from '../core/verdict/scan-verdict.js';
import { ItemAnswer } from '../../../api/items/item-schema.js';
import { QueuePlace } from '../../../api/items/queue-place.js';
import { RejectionAnswer } from './status.js';
import { textUpTo } from '../../../api/http/text-up-to.js';

const Time = z.iso.datetime();
const KINDS = Object.keys(PRIVILEGES) as [PrivilegeKind, ...PrivilegeKind[]];

export const SubmissionBody = z.strictObject({
  repoUrl: textUpTo(500).describe('Such as https://github.com/owner/repository'),
  skillName: textUpTo(64).describe('The name of its folder, or the one in its front matter'),
  skillPath: textUpTo(400).optional().describe('Its folder in the repository; without it, found by its name'),
  ref: textUpTo(200).optional().describe('A branch or a tag; without it, the branch that the repository shows first'),
  email: z
    .string()
    .refine(isMailAddress, 'must be one plain mail address')
    .optional()
    .describe("Gets the verdict. Without it the token's `email` does; only an admin may name another address"),
});

export type SubmissionBody = z.output<typeof SubmissionBody>;

export const SubmissionAccepted = z
  .object({
    id: z.uuid().nullable().describe('Null: the submission is somebody else’s, and the caller may not read it'),
    state: z.string(),
    isVendor: z.boolean().describe('The repository belongs to an organisation whose skills are taken on trust'),
    createdAt: Time,
    statusUrl: z
      .string()
      .nullable()
      .describe('A public link to the status; null where no link can be signed or `id` is null'),
    verdictMail: z
      .enum(['will_be_sent', 'no_address', 'not_your_address', 'not_configured', 'not_taken'])
      .describe(
        'Whether the verdict is mailed. no_address: the token has no `email`. ' +
          "not_your_address: the given address is not the token's `email`, so nothing is mailed. " +
          'not_configured: this installation sends no mail. ' +
          'not_taken: the submission was there before, and its first address gets the mail.',
      ),
    duplicate: z.literal(true).optional().describe('The same skill was submitted before and is on its way'),
    alreadyVerified: z
      .literal(true)
      .optional()
      .describe('The skill was published from the commit that `ref` names, or that its branch has now'),
    ref: z
      .string()
      .nullable()
      .optional()
      .describe('Of a duplicate: the branch or tag that is examined. It may differ from the requested one'),
    skillPath: z.string().nullable().optional().describe('Of a duplicate: the folder that is examined'),
    nextAction: z
      .string()
      .optional()
      .describe('Of a duplicate: the step that happens by itself, and the step that the caller can take'),
  })
  .meta({ id: 'SubmissionAccepted' });

const Scan = z.object({
  verdict: z.enum(['pass', 'fail']),
  durationMs: z.number(),
  findings: z.array(
    z.object({
      id: z.string().describe('Of the rule'),
      name: z.string(),
      severity: z.enum(SEVERITIES),
      category: z.string(),
      file: z.string(),
      line: z.int().nullable().describe('From 1; null, the whole file or folder'),
      match: z.string().describe('Secrets masked'),
      context: z.string(),
      remedy: z.string(),
    }),
  ),
});

const JudgementAnswer = z.object({
  score: z.number().describe('0 to 100: the points, capped by the lowest limit'),
  model: z.string().describe('The model that judged; rules-v1 are the built-in rules'),
  criteria: z
    .object(Object.fromEntries(CRITERIA.map((each) => [each, z.number()])))
    .describe('Points of each criterion'),
  limits: z
    .array(z.object({ to: z.number(), because: z.string() }))
    .describe('Limits that the score could not exceed, each with its reason'),
  concerns: z.array(
    z.object({
      criterion: z.string(),
      text: z.string(),
      quote: z.object({ file: z.string(), line: z.int(), text: z.string() }).nullable(),
    }),
  ),
  privileges: z
    .array(z.object({ kind: z.enum(KINDS), file: z.string(), line: z.int(), text: z.string() }))
    .describe('Not empty: a person decides, however good the score'),
});

/** The item with the fields of a submission. The timeline is shown in two parts, because its owner asks for these
 *  two. */
export const SubmissionAnswer = ItemAnswer.omit({ timeline: true, timelineTruncated: true })
  .extend({
    repoUrl: z.string(),
    skillName: z.string(),
    skillPath: z.string().nullable(),
    ref: z.string().nullable(),
    isVendor: z.boolean(),
    commit: z.string().nullable().describe('The commit that was fetched'),
    contentHash: z.string().nullable(),
    scan: Scan.nullable(),
    judgement: JudgementAnswer.nullable(),
    published: z.object({ skillId: z.uuid(), name: z.string(), version: z.string() }).nullable(),
    history: z
      .array(
        z.object({
          fromState: z.string().nullable(),
          toState: z.string(),
          trigger: z.string(),
          actor: z.string(),
          actorType: z.string(),
          metadata: z.unknown(),
          createdAt: Time,
        }),
      )
      .describe('Oldest first'),
    stageTimings: z
      .array(
        z.object({
          stage: z.string(),
          attempt: z.int(),
          startedAt: Time,
          endedAt: Time,
          durationMs: z.number(),
          result: z.string(),
        }),
      )
      .describe('Every attempt that has ended, oldest first'),
    historyTruncated: z.boolean().describe('History and timings are the latest 200 lines, and there are more'),
    why: RejectionAnswer.nullable().describe('Null: it was not rejected'),
    queue: QueuePlace,
    review: z
      .object({
        since: Time,
        dueAt: Time.describe('After the typical target for reviews, in business days'),
        overdue: z.boolean(),
      })
      .nullable()
      .describe('Null: it does not wait for a person'),
    nextAction: z.string().describe('What happens by itself, or what somebody must do'),
  })
  .meta({ id: 'Submission' });
export type SubmissionAnswer = z.output<typeof SubmissionAnswer>;
