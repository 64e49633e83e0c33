import { z } from 'zod';
import { CRITERIA } from '../core/judgement/judgement.js';
import { isMailAddress } from '../../../core/mail-address.js';
import { PRIVILEGES, type PrivilegeKind } from '../core/judgement/privilege.js';
import { SLA_TARGETS } from '../core/sla.js';
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
  email: z.string().refine(isMailAddress, 'must be one plain mail address').optional().describe('Gets the verdict'),
});

export type SubmissionBody = z.output<typeof SubmissionBody>;

export const SubmissionAccepted = z
  .object({
    id: z.uuid().nullable().describe('Null: it is somebody else’s, which the caller may not read'),
    state: z.string(),
    isVendor: z.boolean().describe('The repository is one of an organisation whose skills are taken on trust'),
    createdAt: Time,
    statusUrl: z
      .string()
      .nullable()
      .describe('A link that anybody may read who has it; null where none can be signed, and where `id` is'),
    verdictMail: z
      .enum(['will_be_sent', 'no_address', 'not_configured', 'not_taken'])
      .describe(
        'Whether the verdict is mailed: no_address, none was given; not_configured, this installation sends no mail; not_taken, ' +
          'the submission was there before, and the address that came with it is told',
      ),
    duplicate: z.literal(true).optional().describe('The same skill was submitted before and is on its way'),
    alreadyVerified: z.literal(true).optional().describe('`ref` is a commit that the skill was published from'),
    ref: z
      .string()
      .nullable()
      .optional()
      .describe('Of a duplicate: the branch or tag that is examined, which may be another than was asked for'),
    skillPath: z.string().nullable().optional().describe('Of a duplicate: the folder that is examined'),
    nextAction: z.string().optional().describe('Of a duplicate: what happens by itself, and what to do about it'),
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
  score: z.number().describe('0 to 100: the points, or the lowest limit where that is less'),
  model: z.string().describe('Who judged; rules-v1 are the built-in rules'),
  criteria: z
    .object(Object.fromEntries(CRITERIA.map((each) => [each, z.number()])))
    .describe('Points of each criterion'),
  limits: z.array(z.object({ to: z.number(), because: z.string() })).describe('What the score could not exceed'),
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
    commit: z.string().nullable().describe('What was fetched'),
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
        dueAt: Time.describe(`${String(SLA_TARGETS.review.typical)} business days later`),
        overdue: z.boolean(),
      })
      .nullable()
      .describe('Null: it does not wait for a person'),
    nextAction: z.string().describe('What happens by itself, or what somebody must do'),
  })
  .meta({ id: 'Submission' });
export type SubmissionAnswer = z.output<typeof SubmissionAnswer>;
