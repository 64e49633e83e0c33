import type { Diagnosis, Facts, ItemFacts, WaitingTask } from './diagnosis.js';
import { ageOf, attemptEvidence, count, nameOf, runnerSentence } from './diagnosis-words.js';

/** Sentences about items that wait for a worker. */

/** The evidence keeps who had the task last, or why it waits. */
export function sayNoWorker({ item, pipeline, now, running, waiting, hold }: Facts): Diagnosis {
  return {
    reason: 'no_worker',
    sentence: `No worker of ${item.pipeline} asks for work; ${lastWords({ item, running, waiting }, now)}.`,
    evidence: {
      ...{ state: item.state, pollers: 0, beatAt: item.beatAt.toISOString() },
      ...(running && { ...attemptEvidence(running), goneAt: running.workerGoneAt?.toISOString() ?? null }),
      ...(!running && waiting && waitingEvidence(waiting)),
      ...(hold && { heldBy: hold.kind, holdKey: hold.key }),
    },
    nextAction: pipeline
      ? 'A person must start a worker; it then goes on by itself.'
      : `This version of the program has no pipeline ${item.pipeline}: a person must start a version that has it.`,
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
  const doubt = engine === 'alive' ? 'its run is alive' : 'Temporal has not said whether its run is alive';
  const queue =
    waiting == null || pollers === undefined ? '' : `; about ${count(waiting, 'task')} for ${count(pollers, 'worker')}`;
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
