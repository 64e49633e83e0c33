import { z } from 'zod';
import { REASONS } from '../../core/diagnosis.js';
import { Degraded } from './degraded.js';
import { ReceiptAnswer } from '../operators/receipt-answer.js';

const Time = z.iso.datetime();
const Facts = z.record(z.string(), z.unknown());
const Failure = z.object({ classification: z.string(), message: z.string() });

const Move = z.object({
  kind: z.literal('move'),
  at: Time,
  from: z.string().nullable(),
  to: z.string(),
  trigger: z.string(),
  actor: z.string(),
  actorType: z.string(),
  version: z.int(),
  visit: z.int(),
  epoch: z.int(),
  metadata: z.unknown(),
});

const EndedAttempt = z.object({
  kind: z.literal('attempt'),
  at: Time,
  startedAt: Time,
  stage: z.string(),
  unit: z.string(),
  visit: z.int(),
  attempt: z.int(),
  worker: z.string().nullable(),
  result: z
    .string()
    .describe(
      'done, error, unbegun (its process did not start), crash, shutdown, superseded (its run or another attempt went on without it) or given_back (Temporal lost sight of it)',
    ),
  error: Failure.nullable(),
});

const Inflight = z.object({
  stage: z.string(),
  unit: z.string().optional().describe('The unit that one task of a fan-out works on'),
  startedAt: Time.nullable(),
  attempt: z.int(),
  beatAt: Time.nullable().describe('Its last sign of life'),
  progress: Facts.nullable(),
  worker: z.string().nullable(),
  isolated: z
    .literal(true)
    .optional()
    .describe('It runs in a process of its own, because it was running at SUSPECT_DEATHS crashes'),
  error: Failure.optional().describe('Of the last failed attempt'),
});

export const DiagnosisAnswer = z.object({
  reason: z.enum(REASONS),
  sentence: z.string(),
  evidence: Facts,
  nextAction: z.string().describe('What happens by itself, or what a person must do'),
  nextAt: Time.nullable(),
});

const StalenessAnswer = z.object({
  stale: z.literal(true),
  since: Time.describe('Its last sign of life'),
  stage: z.string().nullable(),
  message: z.string(),
  diagnosis: DiagnosisAnswer,
});

export const ItemAnswer = z
  .object({
    id: z.uuid(),
    pipeline: z.string(),
    owner: z.string(),
    state: z.string(),
    live: z.boolean().describe('False in a final state'),
    visit: z.int(),
    epoch: z.int(),
    version: z.int(),
    priority: z.int(),
    createdAt: Time,
    updatedAt: Time,
    enteredAt: Time.describe('When it came into its state'),
    beatAt: Time.describe('Its last sign of life'),
    endedAt: Time.nullable(),
    endReason: z.string().nullable(),
    error: Failure.extend({ stage: z.string().nullable() }).nullable(),
    paused: z.object({ until: Time.nullable(), reason: z.string().nullable() }).nullable(),
    parked: z.object({ at: Time, why: z.string().nullable() }).nullable(),
    rescue: z
      .object({ count: z.int(), lastRetryAt: Time.nullable(), nextRetryAfter: Time.nullable() })
      .describe('Rescues in this visit, and the earliest time of the next rescue'),
    decision: z
      .object({
        awaits: z.enum(['owner', 'reviewer']).describe('Whose decision it is; an admin may decide as well'),
        outcomes: z.array(z.string()),
        needsReason: z.array(z.string()).describe('The outcomes that are refused without a reason'),
      })
      .nullable()
      .describe('The decision that a person may make now'),
    tasks: z.array(z.object({ stage: z.string(), status: z.string(), count: z.int() })),
    inflight: z.array(Inflight).describe('At most 50 running tasks'),
    inflightCount: z.int(),
    timeline: z.array(z.union([Move, EndedAttempt])).describe('Oldest first; the latest 200'),
    timelineTruncated: z.boolean(),
    diagnosis: DiagnosisAnswer,
    staleness: StalenessAnswer.nullable().describe('Null as soon as the item moves or beats'),
    receipts: z.array(ReceiptAnswer).describe('Its latest 50 recoveries, the newest first'),
    degraded: Degraded,
    links: z.object({ temporal: z.url().nullable().describe('The current run in the Temporal Web UI') }),
  })
  .meta({ id: 'Item' });
export type ItemAnswer = z.output<typeof ItemAnswer>;

export const ItemParams = z.object({ id: z.uuid() });
