import { isWholeJudgement } from '../core/judgement/judgement.js';
import type { PublicStatus } from '../core/verdict/submission-status.js';
import type { SubmissionRecord } from '../db/submission-view.js';
import type { ItemAnswer } from '../../../api/items/item-schema.js';
import { rejectionAnswer } from './status.js';
import { SubmissionAnswer } from './submission-schema.js';

const { scan, judgement } = SubmissionAnswer.shape;

/** The submission as its owner and operators see it. */
export function submissionAnswer(
  item: ItemAnswer,
  record: SubmissionRecord,
  told: PublicStatus,
): Omit<SubmissionAnswer, 'queue' | 'review'> {
  const { timeline, timelineTruncated, ...rest } = item;
  const { repoUrl, skillName, skillPath, ref, isVendor, commit, contentHash, published } = record;
  return {
    ...rest,
    repoUrl,
    skillName,
    skillPath,
    ref,
    isVendor,
    commit,
    contentHash,
    published,
    // A stage, perhaps of an older version, wrote these facts. Facts that this version can't read are not shown, and do
    // not fail the answer.
    scan: scan.safeParse(record.tier1).data ?? null,
    judgement: isWholeJudgement(record.tier2) ? judgement.parse(record.tier2) : null,
    history: timeline.flatMap((line) => (line.kind === 'move' ? [entryOf(line)] : [])),
    stageTimings: timeline.flatMap((line) => (line.kind === 'attempt' ? [timingOf(line)] : [])),
    historyTruncated: timelineTruncated,
    why: told.rejection && rejectionAnswer(told.rejection),
    nextAction: item.live ? item.diagnosis.nextAction : told.nextAction,
  };
}

type Line = ItemAnswer['timeline'][number];

function entryOf(line: Extract<Line, { kind: 'move' }>): SubmissionAnswer['history'][number] {
  const { from: fromState, to: toState, trigger, actor, actorType, metadata, at: createdAt } = line;
  return { fromState, toState, trigger, actor, actorType, metadata, createdAt };
}

function timingOf(line: Extract<Line, { kind: 'attempt' }>): SubmissionAnswer['stageTimings'][number] {
  const { stage, attempt, startedAt, at: endedAt, result } = line;
  return { stage, attempt, startedAt, endedAt, durationMs: Date.parse(endedAt) - Date.parse(startedAt), result };
}
