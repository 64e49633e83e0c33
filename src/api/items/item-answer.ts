import { diagnose, type Diagnosis, type Facts } from '../../core/diagnosis.js';
import { nameIn } from '../../core/installation.js';
import { isAwaits } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { workflowIdOf } from '../../core/run.js';
import { type Staleness, stalenessOf } from '../../core/staleness.js';
import type { AuditEntry } from '../../db/generated/client.js';
import type { ItemView } from '../../db/reads/item-view.js';
import type { ApiSettings } from '../parts.js';
import type { ItemAnswer } from './item-schema.js';
import { receiptAnswer } from '../operators/receipt-answer.js';

export interface AnswerContext {
  pipeline: Pipeline | undefined;
  /** Temporal's answer about the run, if Temporal was asked. */
  said: Partial<Facts>;
  isEngineThere: boolean;
  temporalUi: ApiSettings['temporalUi'];
}

/** Lines of the timeline that are sent. */
const TIMELINE_LINES = 200;

/** The item as its owner and operators see it. */
export function itemAnswer(view: ItemView, { pipeline, said, isEngineThere, temporalUi }: AnswerContext): ItemAnswer {
  const { item } = view;
  const { id, owner, state, visit, epoch, version, priority } = item;
  const timeline = timelineOf(view);
  const facts = { ...view, pipeline, ...said };
  const diagnosis = diagnose(facts);
  return {
    id,
    pipeline: item.pipeline,
    owner,
    state,
    live: item.endedAt === null,
    visit,
    epoch,
    version,
    priority,
    createdAt: item.createdAt.toISOString(),
    updatedAt: item.updatedAt.toISOString(),
    enteredAt: item.enteredAt.toISOString(),
    beatAt: item.beatAt.toISOString(),
    endedAt: iso(item.endedAt),
    endReason: item.endReason,
    error: errorOf(item),
    paused: pauseOf(view),
    parked: item.parkedAt && { at: item.parkedAt.toISOString(), why: item.parkedWhy },
    rescue: { count: item.rescues, lastRetryAt: iso(item.lastRescueAt), nextRetryAfter: iso(item.nextRescueAfter) },
    decision: decisionOf(pipeline, state),
    tasks: view.tasks,
    inflight: view.inflight.map(inflightOf),
    inflightCount: view.inflightCount,
    timeline: timeline.slice(-TIMELINE_LINES),
    timelineTruncated: view.timelineTruncated || timeline.length > TIMELINE_LINES,
    diagnosis: diagnosisOf(diagnosis),
    staleness: stalenessAnswer(stalenessOf(facts, diagnosis)),
    receipts: view.receipts.map(receiptAnswer),
    degraded: !isEngineThere,
    links: { temporal: temporalUi && item.started ? linkOf(temporalUi, item) : null },
  };
}

function linkOf(ui: NonNullable<ApiSettings['temporalUi']>, item: ItemView['item']): string {
  const run = workflowIdOf({ pipeline: item.pipeline, itemId: item.id, epoch: item.epoch });
  const workflowId = nameIn(ui.installation, run);
  const path = ['namespaces', ui.namespace, 'workflows', workflowId].map(encodeURIComponent).join('/');
  return `${ui.url.replace(/\/+$/, '')}/${path}`;
}

export function errorOf({ errorClass, errorMessage, errorStage }: ItemView['item']): ItemAnswer['error'] {
  return errorClass === null ? null : { classification: errorClass, message: errorMessage ?? '', stage: errorStage };
}

export function pauseOf({ item, now }: Pick<ItemView, 'item' | 'now'>): ItemAnswer['paused'] {
  const { pausedUntil: until, pauseReason: reason } = item;
  if (until === null || (until !== 'infinity' && until <= now)) return null;
  return { until: until === 'infinity' ? null : until.toISOString(), reason };
}

function decisionOf(pipeline: Pipeline | undefined, state: string): ItemAnswer['decision'] {
  const row = pipeline?.states[state];
  if (!row || !isAwaits(row)) return null;
  return { awaits: row.awaits, outcomes: Object.keys(row.then), needsReason: [...(row.needsReason ?? [])] };
}

function inflightOf(task: ItemView['inflight'][number]): ItemAnswer['inflight'][number] {
  const { stage, unit, attempt, worker, errorClass, errorMessage } = task;
  return {
    stage,
    ...(unit !== '' && { unit }),
    startedAt: iso(task.startedAt),
    attempt,
    beatAt: iso(task.beatAt),
    progress: task.progress as Record<string, unknown> | null,
    worker,
    ...(task.isolated && { isolated: true as const }),
    ...(errorClass !== null && { error: { classification: errorClass, message: errorMessage ?? '' } }),
  };
}

type Line = ItemAnswer['timeline'][number];

export function moveLine(entry: AuditEntry): Line {
  const { fromState: from, toState: to, trigger, actor, actorType, version, visit, epoch, metadata } = entry;
  const at = entry.at.toISOString();
  return { kind: 'move', at, from, to, trigger, actor, actorType, version, visit, epoch, metadata };
}

/** Oldest first. An attempt and the move it made end at the same moment: the attempt comes first, as its cause. */
function timelineOf({ audit, attempts }: ItemView): Line[] {
  const moves = audit.map(moveLine);
  const ended = attempts.map((each): Line => {
    const { stage, unit, visit, attempt, worker, result, errorClass, errorMessage } = each;
    const error = errorClass === null ? null : { classification: errorClass, message: errorMessage ?? '' };
    const [at, startedAt] = [each.endedAt.toISOString(), each.startedAt.toISOString()];
    return { kind: 'attempt', at, startedAt, stage, unit, visit, attempt, worker, result, error };
  });
  // Both come latest first; the sort is stable, so equal times keep the order of their ids.
  return [...ended.reverse(), ...moves.reverse()].sort((a, b) => a.at.localeCompare(b.at));
}

export function diagnosisOf(diagnosis: Diagnosis): ItemAnswer['diagnosis'] {
  return { ...diagnosis, nextAt: iso(diagnosis.nextAt) };
}

function stalenessAnswer(staleness: Staleness | null): ItemAnswer['staleness'] {
  if (!staleness) return null;
  const { stale, since, stage, message, diagnosis } = staleness;
  return { stale, since: since.toISOString(), stage, message, diagnosis: diagnosisOf(diagnosis) };
}

function iso(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
