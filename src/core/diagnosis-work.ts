import type { Diagnosis, Hold, ItemFacts, RunningTask, WaitingTask } from './diagnosis.js';
import { ageOf, attemptEvidence, count, endOf, nameOf, runnerSentence } from './diagnosis-words.js';

/** Sentences about tasks: at work, left by their worker, or waiting for their next try. */

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

export function saySuspectWait(task: WaitingTask, askedAt: Date): Diagnosis {
  const before = task.askedBefore ?? 0;
  const waited = `${before || 'no'} ${before === 1 ? 'suspect has' : 'suspects have'} waited longer`;
  return {
    reason: 'suspect_wait',
    sentence: `${nameOf(task)} was running ${count(task.crashes, 'time')} when its process died, so it runs in a process of its own; all places for isolated stages are taken, and ${waited}.`,
    evidence: {
      ...{ stage: task.stage, unit: task.unit, crashes: task.crashes },
      ...{ placeAskedAt: askedAt.toISOString(), askedBefore: before },
    },
    nextAction:
      'It asks again within seconds, and runs when a worker has a free place for an isolated stage (ISOLATED_STAGES).',
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
