import type { Diagnosis, Facts, Hold, ItemFacts, RunningTask, WaitingTask } from './diagnosis.js';
import type { Decider, RestReason } from './pipeline.js';
import type { SweepVerdict } from './rescue-budget.js';

/** One function per reason: it fills the sentence with facts, adds the evidence, and says what comes next. */

export function sayFinished(item: ItemFacts, endedAt: Date, now: Date): Diagnosis {
  const why = item.endReason ? `, reason ${item.endReason}` : '';
  return {
    reason: 'finished',
    sentence: `It ended in ${item.state} ${ageOf(endedAt, now)} ago${why}.`,
    evidence: { state: item.state, endedAt: endedAt.toISOString(), endReason: item.endReason },
    nextAction: 'None is needed.',
    nextAt: null,
  };
}

export function sayParked(item: ItemFacts, parkedAt: Date, now: Date): Diagnosis {
  return {
    reason: 'parked',
    sentence: `It was parked ${ageOf(parkedAt, now)} ago: ${item.parkedWhy ?? NO_REASON}.`,
    evidence: { parkedAt: parkedAt.toISOString(), why: item.parkedWhy },
    nextAction: 'A person must retry or cancel it.',
    nextAt: null,
  };
}

export function sayPaused(who: string, until: Date | 'infinity', why: string | null): Diagnosis {
  const end = endOf(until);
  return {
    reason: 'paused',
    sentence: `${who} is paused until ${end?.toISOString() ?? 'somebody resumes it'}: ${why ?? NO_REASON}.`,
    evidence: { until: end?.toISOString() ?? null, why },
    nextAction: end ? 'It goes on by itself.' : 'A person must resume it.',
    nextAt: end,
  };
}

export function sayAwaitingDecision(item: ItemFacts, who: Decider, outcomes: string[]): Diagnosis {
  return {
    reason: 'awaiting_decision',
    sentence: `It waits in ${item.state} for a decision of ${who === 'owner' ? 'the owner' : 'a reviewer or an admin'}.`,
    evidence: { state: item.state, awaits: who, outcomes: outcomes.join(', ') },
    nextAction: `A person must decide: ${outcomes.join(' or ')}.`,
    nextAt: null,
  };
}

const REST_WORDS = {
  awaiting_upload: { sentence: 'It waits for its upload.', nextAction: 'A person must upload and confirm it.' },
  backlog: { sentence: 'It waits for its turn.', nextAction: 'The next free worker takes it.' },
  not_due: { sentence: 'Nothing is to be done for it yet.', nextAction: 'It is picked when it is due.' },
} as const satisfies Record<RestReason, { sentence: string; nextAction: string }>;

export function sayResting(item: ItemFacts, reason: RestReason): Diagnosis {
  return { reason, ...REST_WORDS[reason], evidence: { state: item.state }, nextAt: null };
}

export function sayStartNotDue(item: ItemFacts, startAfter: Date): Diagnosis {
  return {
    reason: 'not_due',
    sentence: `Its run starts at ${startAfter.toISOString()} at the latest.`,
    evidence: { state: item.state, startAfter: startAfter.toISOString() },
    nextAction: 'The dispatcher starts it then, if nobody has before.',
    nextAt: startAfter,
  };
}

export function sayStartLost(item: ItemFacts, now: Date): Diagnosis {
  return {
    reason: 'start_lost',
    sentence: `No worker has taken it up for ${ageOf(item.beatAt, now)}; its start ${startWords(item)}.`,
    evidence: {
      startTries: item.startTries,
      acceptedAt: item.acceptedAt?.toISOString() ?? null,
      beatAt: item.beatAt.toISOString(),
    },
    nextAction: 'The dispatcher starts it again.',
    nextAt: item.startAfter,
  };
}

function startWords({ acceptedAt, startTries }: ItemFacts): string {
  if (acceptedAt) return 'was accepted by Temporal, which knows no run of it now';
  return startTries === 0 ? 'was not tried by the dispatcher yet' : `was tried ${count(startTries, 'time')}`;
}

interface Sweeping {
  verdict: SweepVerdict;
  unswept: string | undefined;
}

interface ClosedRun extends Sweeping {
  now: Date;
  closedAs: string | undefined;
}

export function sayWorkflowClosed(item: ItemFacts, { now, closedAs, ...sweeping }: ClosedRun): Diagnosis {
  return {
    reason: 'workflow_closed',
    sentence: closedSentence(item, now, closedAs),
    evidence: { runEndedAt: item.runEndedAt?.toISOString() ?? null, closedAs: closedAs ?? null, rescues: item.rescues },
    nextAction: actionOf('The next sweep', sweeping),
    nextAt: null,
  };
}

function closedSentence(item: ItemFacts, now: Date, closedAs: string | undefined): string {
  if (!item.runEndedAt && closedAs === 'never_existed') {
    return `Temporal knows of no run for it; its last sign of life was ${ageOf(item.beatAt, now)} ago.`;
  }
  const when = item.runEndedAt ? `${ageOf(item.runEndedAt, now)} ago` : 'without a word';
  const how = closedAs === undefined || closedAs === 'never_existed' ? '' : ` (${closedAs})`;
  return `Its run ended ${when}${how}, before the item did.`;
}

const VERDICTS = {
  rescue: 'rescues it',
  exhaust: 'ends it, for its rescues are spent',
  park: 'parks it, for it is too old to be driven on unasked',
} as const satisfies Record<SweepVerdict, string>;

/** The sentence says so when the pipeline's sweep is stopped, because then nothing happens by itself. */
function actionOf(sweep: string, { verdict, unswept }: Sweeping): string {
  const done = `${sweep} ${VERDICTS[verdict]}`;
  return unswept === undefined ? `${done}.` : `${done}, but ${unswept}: a person must resume it, or retry the item.`;
}

export function sayRescueWait(item: ItemFacts, nextRescueAfter: Date, sweeping: Sweeping): Diagnosis {
  return {
    reason: 'rescue_wait',
    sentence: `Its run ended after ${count(item.rescues, 'rescue')}; nothing is done before ${nextRescueAfter.toISOString()}.`,
    evidence: { rescues: item.rescues, nextRescueAfter: nextRescueAfter.toISOString() },
    nextAction: actionOf('The first sweep after that', sweeping),
    nextAt: sweeping.unswept === undefined ? nextRescueAfter : null,
  };
}

export function sayWedged(item: ItemFacts, failure: string): Diagnosis {
  return {
    reason: 'wedged',
    sentence: `Its run fails again and again before it can do anything: ${failure}.`,
    evidence: { state: item.state, failure },
    nextAction: 'A person must mend the cause and retry it.',
    nextAt: null,
  };
}

export function sayRunning(task: RunningTask, now: Date): Diagnosis {
  return {
    reason: 'running',
    sentence: `${runnerSentence(task)}; its last sign of life was ${ageOf(task.beatAt, now)} ago.`,
    evidence: attemptEvidence(task),
    nextAction: 'None is needed.',
    nextAt: null,
  };
}

export function saySilentWorker(task: RunningTask, silentFrom: Date, now: Date): Diagnosis {
  return {
    reason: 'silent_worker',
    sentence: `${runnerSentence(task)} and has given no sign of life for ${ageOf(task.beatAt, now)}.`,
    evidence: attemptEvidence(task),
    nextAction: 'Temporal gives it to another worker.',
    nextAt: silentFrom,
  };
}

export function sayWorkerDied(task: RunningTask, goneAt: Date, now: Date): Diagnosis {
  return {
    reason: 'worker_died',
    sentence: `${task.worker ?? 'Its worker'} died ${ageOf(goneAt, now)} ago while it ran ${nameOf(task)}, attempt ${task.attempt}.`,
    evidence: { ...attemptEvidence(task), goneAt: goneAt.toISOString() },
    nextAction: 'Another worker takes it over.',
    nextAt: null,
  };
}

export function sayBreakerOpen(item: ItemFacts, hold: Hold): Diagnosis {
  const end = endOf(hold.until);
  return {
    reason: 'breaker_open',
    sentence: `${item.pipeline} is held because too many attempts failed with ${hold.key}: ${hold.reason}.`,
    evidence: { class: hold.key, until: end?.toISOString() ?? null, why: hold.reason },
    nextAction: 'One item is let through to try.',
    nextAt: end,
  };
}

export function saySuspectWait(task: WaitingTask): Diagnosis {
  return {
    reason: 'suspect_wait',
    sentence: `${nameOf(task)} was running when ${count(task.crashes, 'worker')} died; it waits for one that runs no other suspect.`,
    evidence: { stage: task.stage, unit: task.unit, crashes: task.crashes },
    nextAction: 'It runs as the only suspect of the next free worker.',
    nextAt: null,
  };
}

export function sayRetrying(
  task: WaitingTask,
  error: { class: string; message: string },
  retryAt: Date,
  now: Date,
): Diagnosis {
  const when = retryAt > now ? `is due in ${ageOf(now, retryAt)}` : `has been due for ${ageOf(retryAt, now)}`;
  return {
    reason: 'retrying',
    sentence: `${nameOf(task)} failed on attempt ${task.attempt} with ${error.class} (${error.message}); the next try ${when}.`,
    evidence: { stage: task.stage, unit: task.unit, attempt: task.attempt, class: error.class, message: error.message },
    nextAction: 'It is tried again.',
    nextAt: retryAt,
  };
}

export function sayEngineUnreachable(item: ItemFacts, now: Date): Diagnosis {
  const unknown = item.started ? 'nobody knows what its run does' : 'nobody knows whether it was started';
  return {
    reason: 'engine_unreachable',
    sentence: `Temporal does not answer, so ${unknown}; its last sign of life was ${ageOf(item.beatAt, now)} ago.`,
    evidence: { state: item.state, beatAt: item.beatAt.toISOString() },
    nextAction: 'It goes on when Temporal is back.',
    nextAt: null,
  };
}

/** The evidence keeps who had the task last, or why it waits. */
export function sayNoWorker({ item, now, running, waiting, hold }: Facts): Diagnosis {
  return {
    reason: 'no_worker',
    sentence: `No worker of ${item.pipeline} asks for work; ${lastWords({ item, running, waiting }, now)}.`,
    evidence: {
      ...{ state: item.state, pollers: 0, beatAt: item.beatAt.toISOString() },
      ...(running && { ...attemptEvidence(running), goneAt: running.workerGoneAt?.toISOString() ?? null }),
      ...(!running && waiting && waitingEvidence(waiting)),
      ...(hold && { heldBy: hold.kind, holdKey: hold.key }),
    },
    nextAction: 'A person must start a worker; it then goes on by itself.',
    nextAt: null,
  };
}

function lastWords({ item, running, waiting }: Pick<Facts, 'item' | 'running' | 'waiting'>, now: Date): string {
  if (running?.workerGoneAt) {
    const worker = running.worker ?? 'its worker';
    return `${worker} died ${ageOf(running.workerGoneAt, now)} ago while it ran ${nameOf(running)}, attempt ${running.attempt}`;
  }
  if (running) return `${runnerSentence(running)} and has given no sign of life for ${ageOf(running.beatAt, now)}`;
  if (waiting?.error) return `${nameOf(waiting)} failed on attempt ${waiting.attempt} with ${waiting.error.class}`;
  return `its last sign of life was ${ageOf(item.beatAt, now)} ago`;
}

function waitingEvidence({ stage, unit, attempt, crashes, retryAt, error }: WaitingTask): Diagnosis['evidence'] {
  return {
    ...{ stage, unit, attempt, crashes, retryAt: retryAt?.toISOString() ?? null },
    ...(error && { class: error.class, message: error.message }),
  };
}

interface QueueFacts {
  now: Date;
  engine: 'alive' | 'gone' | 'unknown' | undefined;
  pollers: number | undefined;
  backlog: number | null | undefined;
}

export function sayBacklog(item: ItemFacts, { now, engine, pollers, backlog: waiting }: QueueFacts): Diagnosis {
  const doubt = engine === 'alive' ? 'its run is alive' : 'whether its run is alive was not asked';
  const queue =
    waiting == null || pollers === undefined ? '' : `; ${count(waiting, 'task')} for ${count(pollers, 'worker')}`;
  return {
    reason: 'backlog',
    sentence: `It waits for a free worker (${doubt}${queue}); its last sign of life was ${ageOf(item.beatAt, now)} ago.`,
    evidence: {
      ...{ state: item.state, beatAt: item.beatAt.toISOString(), engine: engine ?? null },
      ...{ pollers: pollers ?? null, backlog: waiting ?? null },
    },
    nextAction: 'The next free worker takes it.',
    nextAt: null,
  };
}

const NO_REASON = 'no reason given';

function endOf(until: Date | 'infinity'): Date | null {
  return until === 'infinity' ? null : until;
}

function runnerSentence(task: RunningTask): string {
  return `${task.worker ?? 'A worker'} runs ${nameOf(task)}, attempt ${task.attempt}`;
}

function attemptEvidence(task: RunningTask): Diagnosis['evidence'] {
  const { stage, unit, attempt, worker } = task;
  return { stage, unit, attempt, worker, startedAt: task.startedAt.toISOString(), beatAt: task.beatAt.toISOString() };
}

function nameOf({ stage, unit }: { stage: string; unit: string }): string {
  return unit === '' ? stage : `${stage} of ${unit}`;
}

function count(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? '' : 's'}`;
}

const AGE_UNITS = [
  { unit: 'd', ms: 86_400_000 },
  { unit: 'h', ms: 3_600_000 },
  { unit: 'min', ms: 60_000 },
  { unit: 's', ms: 1_000 },
] as const;

/** The age in the largest unit that fits at least twice, so that 90 s do not become "1 min". */
function ageOf(from: Date, to: Date): string {
  const ms = Math.max(0, to.getTime() - from.getTime());
  const fits = AGE_UNITS.find((each) => ms >= 2 * each.ms);
  return fits ? `${Math.floor(ms / fits.ms)} ${fits.unit}` : `${(ms / 1_000).toFixed(1)} s`;
}
