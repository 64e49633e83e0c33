import { describe, expect, it } from 'vitest';
import { diagnose, REASONS, type RunningTask, type WaitingTask } from '../../src/core/diagnosis.js';
import { ago, facts, type Given } from '../support/item-facts.js';

const task: RunningTask = {
  ...{ stage: 'read', unit: '', attempt: 2, worker: 'worker-1' },
  ...{ startedAt: ago(30), beatAt: ago(1), workerGoneAt: null },
};

const failed: WaitingTask = {
  ...{ stage: 'read', unit: '', attempt: 1, crashes: 0, retryAt: ago(-20) },
  ...{ placeAskedAt: null, askedBefore: null },
  error: { class: 'NETWORK_ERROR', message: 'hung up' },
};

interface Case {
  name: string;
  given: Given;
  reason: (typeof REASONS)[number];
  says: string;
  next: string;
  at: Date | null;
}

const cases: Case[] = [
  {
    name: 'ended',
    given: { item: { state: 'failed', endedAt: ago(7_200), endReason: 'CANCELLED' }, running: task },
    reason: 'finished',
    says: 'It ended in failed 2 h ago, reason CANCELLED.',
    next: 'None is needed.',
    at: null,
  },
  {
    name: 'ended well',
    given: { item: { state: 'finished', endedAt: ago(90) } },
    reason: 'finished',
    says: 'It ended in finished 90 s ago.',
    next: 'None is needed.',
    at: null,
  },
  {
    name: 'parked',
    given: { item: { parkedAt: ago(3 * 86_400), parkedWhy: 'older than 7 days' } },
    reason: 'parked',
    says: 'It was parked 3 d ago: older than 7 days.',
    next: 'A person must retry or cancel it.',
    at: null,
  },
  {
    name: 'paused for a time',
    given: { item: { pausedUntil: ago(-600), pauseReason: 'a look' } },
    reason: 'paused',
    says: 'It is paused until 2026-03-01T12:10:00.000Z: a look.',
    next: 'It goes on by itself.',
    at: ago(-600),
  },
  {
    name: 'paused without an end',
    given: { item: { pausedUntil: 'infinity', state: 'review' } },
    reason: 'paused',
    says: 'It is paused until somebody resumes it: no reason given.',
    next: 'A person must resume it.',
    at: null,
  },
  {
    name: 'in a state that awaits somebody, after a pause that is over',
    given: { item: { state: 'review', pausedUntil: ago(1) } },
    reason: 'awaiting_decision',
    says: 'It waits in review for a decision of a reviewer or an admin.',
    next: 'A person must decide: accept or refuse.',
    at: null,
  },
  {
    name: 'registered and not uploaded',
    given: { item: { state: 'waiting', started: false, startAfter: null } },
    reason: 'awaiting_upload',
    says: 'It waits for its upload.',
    next: 'A person must upload and confirm it.',
    at: null,
  },
  {
    name: 'resting until it is picked',
    given: { item: { state: 'resting', started: false, startAfter: null } },
    reason: 'not_due',
    says: 'Nothing is to be done for it yet.',
    next: 'It is picked when it is due.',
    at: null,
  },
  {
    name: 'resting in a queue',
    given: { item: { state: 'queued', started: false, startAfter: null } },
    reason: 'backlog',
    says: 'It waits for its turn.',
    next: 'The next free worker takes it.',
    at: null,
  },
  {
    name: 'about to be started',
    given: { item: { started: false, startAfter: ago(-1) } },
    reason: 'not_due',
    says: 'Its run starts at 2026-03-01T12:00:01.000Z at the latest.',
    next: 'The dispatcher starts it then, if nobody has before.',
    at: ago(-1),
  },
  {
    name: 'due and not started',
    given: { item: { started: false, startAfter: ago(3), beatAt: ago(4) } },
    reason: 'start_lost',
    says: 'No worker has taken it up for 4 s; its start was not tried by the dispatcher yet.',
    next: 'The dispatcher starts it again.',
    at: ago(3),
  },
  {
    name: 'tried and still not started',
    given: { item: { started: false, startAfter: ago(-8), startTries: 3, beatAt: ago(300) } },
    reason: 'start_lost',
    says: 'No worker has taken it up for 5 min; its start was tried 3 times.',
    next: 'The dispatcher starts it again.',
    at: ago(-8),
  },
  {
    name: 'started in Temporal, and no worker has come',
    given: { item: { started: false, startTries: 1, beatAt: ago(10) }, engine: 'alive' },
    reason: 'backlog',
    says: 'It waits for a free worker (its run is alive); its last sign of life was 10 s ago.',
    next: 'The next free worker takes it.',
    at: null,
  },
  {
    name: 'started by the dispatcher, and no worker has come',
    given: { item: { started: false, startTries: 1, acceptedAt: ago(8), beatAt: ago(10) } },
    reason: 'backlog',
    says: 'It waits for a free worker (Temporal has not said whether its run is alive); its last sign of life was 10 s ago.',
    next: 'The next free worker takes it.',
    at: null,
  },
  {
    name: 'not started while Temporal is away',
    given: { item: { started: false, startTries: 2, startAfter: ago(1), beatAt: ago(10) }, engine: 'unknown' },
    reason: 'engine_unreachable',
    says: 'Temporal does not answer, so nobody knows whether it was started; its last sign of life was 10 s ago.',
    next: 'It goes on when Temporal is back.',
    at: null,
  },
  {
    name: 'left by its run',
    given: { item: { runEndedAt: ago(45) }, waiting: failed },
    reason: 'workflow_closed',
    says: 'Its run ended 45 s ago, before the item did.',
    next: 'The next sweep rescues it.',
    at: null,
  },
  {
    name: 'left by its run while nobody sweeps',
    given: { item: { runEndedAt: ago(45) }, unswept: 'sweep-orders is paused (ada: too loud)' },
    reason: 'workflow_closed',
    says: 'Its run ended 45 s ago, before the item did.',
    next: 'The next sweep rescues it, but sweep-orders is paused (ada: too loud): a person must resume it, or retry the item.',
    at: null,
  },
  {
    name: 'rescued before, while nobody sweeps',
    given: {
      item: { runEndedAt: ago(5), rescues: 1, nextRescueAfter: ago(-60) },
      unswept: 'sweep-orders is switched off',
    },
    reason: 'rescue_wait',
    says: 'Its run ended after 1 rescue; nothing is done before 2026-03-01T12:01:00.000Z.',
    next: 'The first sweep after that rescues it, but sweep-orders is switched off: a person must resume it, or retry the item.',
    at: null,
  },
  {
    name: 'without a run, says Temporal, whatever the row believes',
    given: { running: task, engine: 'gone' },
    reason: 'workflow_closed',
    says: 'Its run ended without a word, before the item did.',
    next: 'The next sweep rescues it.',
    at: null,
  },
  {
    name: 'left by its run again, soon after a rescue',
    given: { item: { runEndedAt: ago(5), rescues: 1, nextRescueAfter: ago(-60) } },
    reason: 'rescue_wait',
    says: 'Its run ended after 1 rescue; nothing is done before 2026-03-01T12:01:00.000Z.',
    next: 'The first sweep after that rescues it.',
    at: ago(-60),
  },
  {
    name: 'left by its run after its last rescue',
    given: { item: { runEndedAt: ago(5), rescues: 3, lastRescueAt: ago(60), nextRescueAfter: ago(-60) } },
    reason: 'rescue_wait',
    says: 'Its run ended after 3 rescues; nothing is done before 2026-03-01T12:01:00.000Z.',
    next: 'The first sweep after that ends it, for its rescues are spent.',
    at: ago(-60),
  },
  {
    name: 'out of rescues, and the last window has passed',
    given: { item: { rescues: 3, lastRescueAt: ago(600), beatAt: ago(600) }, engine: 'gone', closedAs: 'terminated' },
    reason: 'workflow_closed',
    says: 'Its run ended without a word (terminated), before the item did.',
    next: 'The next sweep ends it, for its rescues are spent.',
    at: null,
  },
  {
    name: 'silent for longer than anything is rescued',
    given: { item: { beatAt: ago(8 * 86_400) }, engine: 'gone', closedAs: 'timed_out' },
    reason: 'workflow_closed',
    says: 'Its run ended without a word (timed_out), before the item did.',
    next: 'The next sweep parks it, for it is too old to be driven on unasked.',
    at: null,
  },
  {
    name: 'forgotten by Temporal',
    given: { item: { beatAt: ago(600), rescues: 3 }, engine: 'gone', closedAs: 'never_existed' },
    reason: 'workflow_closed',
    says: 'Temporal knows of no run for it; its last sign of life was 10 min ago.',
    next: 'The next sweep rescues it.',
    at: null,
  },
  {
    name: 'closed before its first step',
    given: { item: { started: false, startTries: 1, beatAt: ago(600) }, engine: 'gone', closedAs: 'terminated' },
    reason: 'workflow_closed',
    says: 'Its run ended without a word (terminated), before the item did.',
    next: 'The next sweep rescues it.',
    at: null,
  },
  {
    name: 'without a run in a pipeline that is paused',
    given: {
      item: { runEndedAt: ago(60) },
      engine: 'gone',
      hold: { kind: 'pause', key: '', until: 'infinity', reason: 'an upgrade' },
    },
    reason: 'paused',
    says: 'The pipeline sample is paused until somebody resumes it: an upgrade.',
    next: 'A person must resume it.',
    at: null,
  },
  {
    name: 'without a run, while the breaker that held it has a place for it',
    given: {
      item: { runEndedAt: ago(60) },
      engine: 'gone',
      waiting: failed,
      hold: { kind: 'breaker', key: 'LLM_ERROR', until: ago(5), reason: '6 of 8 failed' },
    },
    reason: 'workflow_closed',
    says: 'Its run ended 60 s ago, before the item did.',
    next: 'The next sweep rescues it.',
    at: null,
  },
  {
    name: 'never started, in a pipeline that is paused, and Temporal was not asked',
    given: {
      item: { started: false, startTries: 2, startAfter: ago(1), beatAt: ago(60) },
      engine: 'unknown',
      hold: { kind: 'pause', key: '', until: 'infinity', reason: 'an upgrade' },
    },
    reason: 'paused',
    says: 'The pipeline sample is paused until somebody resumes it: an upgrade.',
    next: 'A person must resume it.',
    at: null,
  },
  {
    name: 'without a run, and without a worker for another',
    given: { item: { runEndedAt: ago(60), beatAt: ago(60) }, engine: 'gone', pollers: 0 },
    reason: 'no_worker',
    says: 'No worker of sample asks for work; its last sign of life was 60 s ago.',
    next: 'A person must start a worker; it then goes on by itself.',
    at: null,
  },
  {
    name: 'in a pipeline that this version lacks, and that no worker knows',
    given: { item: { beatAt: ago(60) }, pipeline: undefined, engine: 'alive', pollers: 0 },
    reason: 'no_worker',
    says: 'No worker of sample asks for work; its last sign of life was 60 s ago.',
    next: 'This version of the program has no pipeline sample: a person must start a version that has it.',
    at: null,
  },
  {
    name: 'behind others in the queue',
    given: { item: { beatAt: ago(120) }, engine: 'alive', pollers: 2, backlog: 31 },
    reason: 'backlog',
    says: 'It waits for a free worker (its run is alive; about 31 tasks for 2 workers); its last sign of life was 2 min ago.',
    next: 'The next free worker takes it.',
    at: null,
  },
  {
    name: 'not started, on a run that cannot run',
    given: { item: { started: false }, engine: 'alive', wedgedBy: 'no such workflow type' },
    reason: 'wedged',
    says: 'Its run fails again and again before it can do anything: no such workflow type.',
    next: 'A person must mend the cause and retry it.',
    at: null,
  },
  {
    name: 'stuck on a run that cannot run',
    given: { engine: 'alive', wedgedBy: 'no such workflow type' },
    reason: 'wedged',
    says: 'Its run fails again and again before it can do anything: no such workflow type.',
    next: 'A person must mend the cause and retry it.',
    at: null,
  },
  {
    name: 'running',
    given: { running: task },
    reason: 'running',
    says: 'worker-1 runs read, attempt 2; its last sign of life was 1.0 s ago.',
    next: 'None is needed.',
    at: null,
  },
  {
    name: 'running a unit, though the pipeline is held for others',
    given: {
      running: { ...task, unit: 'chunk-7', worker: null },
      hold: { kind: 'pause', key: '', until: 'infinity', reason: 'an upgrade' },
    },
    reason: 'running',
    says: 'A worker runs read of chunk-7, attempt 2; its last sign of life was 1.0 s ago.',
    next: 'None is needed.',
    at: null,
  },
  {
    name: 'silent just as long as its stage may be',
    given: { running: { ...task, beatAt: ago(10) } },
    reason: 'running',
    says: 'worker-1 runs read, attempt 2; its last sign of life was 10 s ago.',
    next: 'None is needed.',
    at: null,
  },
  {
    name: 'silent for longer than its stage may be',
    given: { running: { ...task, beatAt: ago(11) } },
    reason: 'silent_worker',
    says: 'worker-1 runs read, attempt 2 and has given no sign of life for 11 s.',
    next: 'Temporal gives it to another worker.',
    at: ago(1),
  },
  {
    name: 'silent for longer than the default, in a stage that names no limit',
    given: { running: { ...task, stage: 'write', beatAt: ago(5) } },
    reason: 'silent_worker',
    says: 'worker-1 runs write, attempt 2 and has given no sign of life for 5 s.',
    next: 'Temporal gives it to another worker.',
    at: ago(1),
  },
  {
    name: 'running on a worker that is gone',
    given: { running: { ...task, workerGoneAt: ago(1) } },
    reason: 'worker_died',
    says: 'worker-1 died 1.0 s ago while it ran read, attempt 2.',
    next: 'Another worker takes it over.',
    at: null,
  },
  {
    name: 'held with its pipeline',
    given: { waiting: failed, hold: { kind: 'pause', key: '', until: ago(-3_600), reason: 'an upgrade' } },
    reason: 'paused',
    says: 'The pipeline sample is paused until 2026-03-01T13:00:00.000Z: an upgrade.',
    next: 'It goes on by itself.',
    at: ago(-3_600),
  },
  {
    name: 'behind an open breaker',
    given: { waiting: failed, hold: { kind: 'breaker', key: 'LLM_ERROR', until: ago(-30), reason: '6 of 8 failed' } },
    reason: 'breaker_open',
    says: 'sample is held because too many attempts failed with LLM_ERROR: 6 of 8 failed.',
    next: 'One item is let through to try.',
    at: ago(-30),
  },
  {
    name: 'a suspect that all others wait behind',
    given: { waiting: { ...failed, crashes: 2, placeAskedAt: ago(3), askedBefore: 0, retryAt: ago(-1) } },
    reason: 'suspect_wait',
    says: 'read was running 2 times when its process died, so it runs in a process of its own; all places for isolated stages are taken, and no suspects have waited longer.',
    next: 'It asks again within seconds, and runs when a worker has a free place for an isolated stage (ISOLATED_STAGES).',
    at: null,
  },
  {
    name: 'a suspect behind another',
    given: { waiting: { ...failed, crashes: 2, placeAskedAt: ago(3), askedBefore: 1, retryAt: ago(1) } },
    reason: 'suspect_wait',
    says: 'read was running 2 times when its process died, so it runs in a process of its own; all places for isolated stages are taken, and 1 suspect has waited longer.',
    next: 'It asks again within seconds, and runs when a worker has a free place for an isolated stage (ISOLATED_STAGES).',
    at: null,
  },
  {
    name: 'a suspect behind others',
    given: { waiting: { ...failed, crashes: 3, placeAskedAt: ago(3), askedBefore: 12, retryAt: ago(9) } },
    reason: 'suspect_wait',
    says: 'read was running 3 times when its process died, so it runs in a process of its own; all places for isolated stages are taken, and 12 suspects have waited longer.',
    next: 'It asks again within seconds, and runs when a worker has a free place for an isolated stage (ISOLATED_STAGES).',
    at: null,
  },
  {
    name: 'a suspect whose next ask for a place is long overdue, because it waits for a worker',
    given: {
      waiting: { ...failed, crashes: 2, placeAskedAt: ago(60), askedBefore: 1, retryAt: ago(11), error: null },
      ...{ engine: 'alive', pollers: 1, backlog: 4 },
    },
    reason: 'backlog',
    says: 'It waits for a free worker (its run is alive; about 4 tasks for 1 worker); its last sign of life was 1.0 s ago.',
    next: 'The next free worker takes it.',
    at: null,
  },
  {
    name: 'a suspect that has not asked for a place since its process died',
    given: {
      waiting: { ...failed, crashes: 3, retryAt: ago(1), error: { class: 'WORKER_CRASH', message: 'it was ended' } },
    },
    reason: 'retrying',
    says: 'read failed on attempt 1 with WORKER_CRASH (it was ended); the next try has been due for 1.0 s.',
    next: 'It is tried again.',
    at: ago(1),
  },
  {
    name: 'failed, to be tried again soon',
    given: { waiting: failed },
    reason: 'retrying',
    says: 'read failed on attempt 1 with NETWORK_ERROR (hung up); the next try is due in 20 s.',
    next: 'It is tried again.',
    at: ago(-20),
  },
  {
    name: 'failed, and overdue',
    given: { waiting: { ...failed, unit: 'chunk-1', retryAt: ago(6) } },
    reason: 'retrying',
    says: 'read of chunk-1 failed on attempt 1 with NETWORK_ERROR (hung up); the next try has been due for 6 s.',
    next: 'It is tried again.',
    at: ago(6),
  },
  {
    name: 'between two stages, Temporal not asked',
    given: { item: { beatAt: ago(0.4) }, waiting: { ...failed, error: null, retryAt: null, attempt: 0 } },
    reason: 'backlog',
    says: 'It waits for a free worker (Temporal has not said whether its run is alive); its last sign of life was 0.4 s ago.',
    next: 'The next free worker takes it.',
    at: null,
  },
  {
    name: 'between two stages, and no worker asks for work',
    given: { item: { beatAt: ago(120) }, engine: 'alive', pollers: 0 },
    reason: 'no_worker',
    says: 'No worker of sample asks for work; its last sign of life was 2 min ago.',
    next: 'A person must start a worker; it then goes on by itself.',
    at: null,
  },
  {
    name: 'on a frozen worker, and no other asks for work',
    given: { running: { ...task, beatAt: ago(7_200) }, item: { beatAt: ago(7_200) }, engine: 'alive', pollers: 0 },
    reason: 'no_worker',
    says: 'No worker of sample asks for work; worker-1 runs read, attempt 2 and has given no sign of life for 2 h.',
    next: 'A person must start a worker; it then goes on by itself.',
    at: null,
  },
  {
    name: 'on a worker that died, and no other asks for work',
    given: { running: { ...task, workerGoneAt: ago(300) }, engine: 'alive', pollers: 0 },
    reason: 'no_worker',
    says: 'No worker of sample asks for work; worker-1 died 5 min ago while it ran read, attempt 2.',
    next: 'A person must start a worker; it then goes on by itself.',
    at: null,
  },
  {
    name: 'at work on a worker that has just beaten, though none asks for more work',
    given: { running: task, engine: 'alive', pollers: 0 },
    reason: 'running',
    says: 'worker-1 runs read, attempt 2; its last sign of life was 1.0 s ago.',
    next: 'None is needed.',
    at: null,
  },
  {
    name: 'failed and overdue, and no worker asks for work',
    given: { waiting: { ...failed, retryAt: ago(6_960) }, engine: 'alive', pollers: 0 },
    reason: 'no_worker',
    says: 'No worker of sample asks for work; read failed on attempt 1 with NETWORK_ERROR.',
    next: 'A person must start a worker; it then goes on by itself.',
    at: null,
  },
  {
    name: 'a suspect that asked for a place before the last worker went',
    given: {
      item: { beatAt: ago(7_200) },
      waiting: { ...failed, crashes: 2, placeAskedAt: ago(7_200), askedBefore: 0, error: null, retryAt: ago(3) },
      ...{ engine: 'alive', pollers: 0 },
    },
    reason: 'no_worker',
    says: 'No worker of sample asks for work; its last sign of life was 2 h ago.',
    next: 'A person must start a worker; it then goes on by itself.',
    at: null,
  },
  {
    name: 'held by a breaker, and no worker asks for work',
    given: {
      item: { beatAt: ago(7_200) },
      hold: { kind: 'breaker', key: 'NETWORK_ERROR', until: ago(3_600), reason: 'down' },
      ...{ engine: 'alive', pollers: 0 },
    },
    reason: 'no_worker',
    says: 'No worker of sample asks for work; its last sign of life was 2 h ago.',
    next: 'A person must start a worker; it then goes on by itself.',
    at: null,
  },
  {
    name: 'paused with its pipeline, and no worker asks for work',
    given: { hold: { kind: 'pause', key: '', until: 'infinity', reason: 'an upgrade' }, engine: 'alive', pollers: 0 },
    reason: 'paused',
    says: 'The pipeline sample is paused until somebody resumes it: an upgrade.',
    next: 'A person must resume it.',
    at: null,
  },
  {
    name: 'never taken up, and no worker asks for work',
    given: { item: { started: false, beatAt: ago(30) }, engine: 'alive', pollers: 0 },
    reason: 'no_worker',
    says: 'No worker of sample asks for work; its last sign of life was 30 s ago.',
    next: 'A person must start a worker; it then goes on by itself.',
    at: null,
  },
  {
    name: 'between two stages while Temporal is away',
    given: { item: { beatAt: ago(9) }, engine: 'unknown' },
    reason: 'engine_unreachable',
    says: 'Temporal does not answer, so nobody knows what its run does; its last sign of life was 9 s ago.',
    next: 'It goes on when Temporal is back.',
    at: null,
  },
  {
    name: 'of a pipeline that this version does not know',
    given: { pipeline: undefined, running: { ...task, beatAt: ago(3) } },
    reason: 'running',
    says: 'worker-1 runs read, attempt 2; its last sign of life was 3 s ago.',
    next: 'None is needed.',
    at: null,
  },
];

describe('the diagnosis of an item', () => {
  it.each(cases)('that is $name: $reason', ({ given, reason, says, next, at }) => {
    const diagnosis = diagnose(facts(given));
    expect(diagnosis).toMatchObject({ reason, sentence: says, nextAction: next });
    expect(diagnosis.nextAt).toEqual(at);
    expect(Object.keys(diagnosis.evidence).length).toBeGreaterThan(0);
  });

  it('has a test case for every reason', () => {
    expect(new Set(cases.map((each) => each.reason))).toEqual(new Set(REASONS));
  });

  it('never shows an age below zero, even if a beat is newer than the look', () => {
    expect(diagnose(facts({ running: { ...task, beatAt: ago(-5) } })).sentence).toContain('0.0 s ago');
  });

  it('carries evidence that fits into JSON', () => {
    for (const { given } of cases) {
      const { evidence } = diagnose(facts(given));
      expect(JSON.parse(JSON.stringify(evidence))).toEqual(evidence);
    }
  });
});
