import { itemOf, taskOf } from '../../support/facts.js';
import { isFrozen } from '../../support/spawn-worker.js';
import { until } from '../../support/until.js';
import { type FaultCase, STAGES, type Victim, WALKED, walkedWith } from '../fault-case.js';
import type { Field } from '../field.js';
import { SEEN_MS } from '../settings.js';

/** Workers that are frozen, dead or not there at all. */

const WORKERS = ['worker-1', 'worker-2'] as const;
type WorkerName = (typeof WORKERS)[number];

/** Long beside what is needed to meet it while it runs. */
const LONG = { stageMs: [3_000, 0, 0] };

function areFrozen({ installation }: Field): boolean {
  return WORKERS.every((name) => isFrozen(installation.pidOf(name)));
}

function signal({ installation }: Field, what: 'SIGSTOP' | 'SIGCONT', names: readonly WorkerName[]): void {
  for (const name of names) process.kill(installation.pidOf(name), what);
}

async function holderOf(field: Field, id: string): Promise<{ holder: WorkerName; other: WorkerName }> {
  const text = 'SELECT w.name FROM tasks t JOIN workers w ON w.id = t.worker WHERE t.item_id = $1 AND t.stage = $2';
  const found = await field.one<{ name: WorkerName }>(text, [id, 'first']);
  return found?.name === 'worker-1'
    ? { holder: 'worker-1', other: 'worker-2' }
    : { holder: 'worker-2', other: 'worker-1' };
}

/** Wakes the one that does not have the stage, and the other when nothing is left for it to do: what it holds it must not write. */
async function wakeTheOtherFirst(field: Field, id: string): Promise<void> {
  const { other } = await holderOf(field, id);
  signal(field, 'SIGCONT', [other]);
  await field.admin.reaches(id, 'DONE');
  signal(field, 'SIGCONT', WORKERS);
}

/** Freezes both, so that nobody can take the stage over as long as it is looked at. */
async function freezeBoth(field: Field): Promise<Victim> {
  const id = await field.running('first', LONG);
  const at = Date.now();
  signal(field, 'SIGSTOP', WORKERS);
  await until('they stand still', () => areFrozen(field));
  return { id, at };
}

async function isFirstFrozen(field: Field, { id }: Victim): Promise<boolean> {
  const task = await taskOf(field.installation.pool, id, 'first');
  return task.status === 'running' && task.attempt === 1 && areFrozen(field);
}

/** Looked at for a few seconds, because a worker that was silent for twenty no longer counts as there. */
const silentWorker: FaultCase = {
  reason: 'silent_worker',
  name: 'workers that are frozen (SIGSTOP)',
  before: ['running'],
  seenWithinMs: SEEN_MS.byRow,
  create: freezeBoth,
  holds: isFirstFrozen,
  heals: (field, { id }) => wakeTheOtherFirst(field, id),
  expects: {
    sentence: /^worker-\d runs first, attempt 1 and has given no sign of life for [\d.]+ s\.$/,
    evidence: { stage: 'first', attempt: 1, worker: /^worker-\d$/ },
    nextAction: 'Temporal gives it to another worker.',
    // Its heartbeat timeout has passed: that is why it counts as silent.
    nextAt: (nextAt, { inflight }) => Date.parse(nextAt ?? '') === Date.parse(inflight[0]?.beatAt ?? '') + 2_000,
    ends: 'DONE',
    receipts: [{ reason: 'silent_worker', actorType: 'system', result: 'moving', stagesAgain: ['first'] }],
    trail: WALKED,
    effects: STAGES,
  },
};

const noWorkerAwake: FaultCase = {
  reason: 'no_worker',
  name: 'an item inside a stage while all workers stay frozen',
  before: ['running', 'silent_worker'],
  seenWithinMs: SEEN_MS.bySilence,
  heldUntil: 'swept',
  create: freezeBoth,
  holds: isFirstFrozen,
  heals: (field, { id }) => wakeTheOtherFirst(field, id),
  expects: {
    sentence:
      /^No worker of canary asks for work; worker-\d runs first, attempt 1 and has given no sign of life for [\d.]+ s\.$/,
    evidence: { state: 'FIRST', pollers: 0, stage: 'first', attempt: 1, worker: /^worker-\d$/ },
    nextAction: 'A person must start a worker; it then goes on by itself.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [{ reason: 'silent_worker', actorType: 'system', result: 'moving', stagesAgain: ['first'] }],
    trail: WALKED,
    effects: STAGES,
    notifies: 'no_worker',
  },
};

export async function takeWorkersAway({ installation }: Field): Promise<void> {
  await Promise.all(WORKERS.map((name) => installation.takeAway(name)));
}

export async function releaseWorkers({ installation }: Field): Promise<void> {
  WORKERS.forEach((name) => installation.release(name));
}

function areAway(field: Field): boolean {
  return WORKERS.every((name) => isAway(field, name));
}

function isAway({ installation }: Field, name: WorkerName): boolean {
  try {
    return !installation.pidOf(name);
  } catch {
    return true; // it is not running
  }
}

/** The other worker is frozen and counts as there: so nobody takes the stage over as long as it is looked at. */
const workerDied: FaultCase = {
  reason: 'worker_died',
  name: 'a worker that was killed (SIGKILL) while the other is frozen',
  before: ['running', 'silent_worker'],
  seenWithinMs: SEEN_MS.byRow,
  async create(field) {
    const id = await field.running('first', LONG);
    const { holder, other } = await holderOf(field, id);
    const at = Date.now();
    signal(field, 'SIGSTOP', [other]);
    await until('the other stands still', () => isFrozen(field.installation.pidOf(other)));
    await field.installation.takeAway(holder);
    return { id, at };
  },
  async holds(field, { id }) {
    const task = await taskOf(field.installation.pool, id, 'first');
    return task.status === 'running' && task.attempt === 1;
  },
  async heals(field) {
    for (const name of WORKERS) if (!isAway(field, name)) signal(field, 'SIGCONT', [name]);
    await releaseWorkers(field);
  },
  expects: {
    sentence: /^worker-\d died [\d.]+ s ago while it ran first, attempt 1\.$/,
    evidence: { stage: 'first', attempt: 1, worker: /^worker-\d$/, goneAt: /Z$/ },
    nextAction: 'Another worker takes it over.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [{ reason: 'worker_died', actorType: 'system', result: 'moving', stagesAgain: ['first'] }],
    // Temporal may have given the task to the frozen worker, which asks for work until it is frozen. A worker that wakes and begins just
    // when Temporal gives it up is alive and at work, and gives the task back.
    orReceipts: [
      { reason: 'worker_died', actorType: 'system', result: 'moving', stagesAgain: ['first'] },
      {
        ...{ reason: 'silent_worker', orReason: 'engine_unreachable' },
        ...{ actorType: 'system', result: 'moving', stagesAgain: ['first'] },
      },
    ],
    trail: WALKED,
    effects: STAGES,
  },
};

const lastWorkerDied: FaultCase = {
  reason: 'no_worker',
  name: 'an item inside a stage whose worker was killed (SIGKILL), and no other there',
  before: ['running', 'silent_worker', 'worker_died'],
  seenWithinMs: SEEN_MS.byRow,
  heldUntil: 'swept',
  prepare: (field) => field.running('first', LONG),
  create: async (_field, { prepared, struckAt }) => ({ id: prepared, at: struckAt }),
  async holds(field, { id }) {
    return areAway(field) && (await taskOf(field.installation.pool, id, 'first')).status === 'running';
  },
  expects: {
    sentence: /^No worker of canary asks for work; worker-\d died [\d.]+ s ago while it ran first, attempt 1\.$/,
    evidence: { state: 'FIRST', pollers: 0, stage: 'first', attempt: 1, worker: /^worker-\d$/, goneAt: /Z$/ },
    nextAction: 'A person must start a worker; it then goes on by itself.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [{ reason: 'worker_died', actorType: 'system', result: 'moving', stagesAgain: ['first'] }],
    trail: WALKED,
    effects: STAGES,
    notifies: 'no_worker',
  },
};

const noWorker: FaultCase = {
  reason: 'no_worker',
  name: 'an item submitted when no worker is there',
  before: ['not_due', 'start_lost', 'backlog'],
  seenWithinMs: SEEN_MS.byTemporal,
  heldUntil: 'swept',
  async create({ admin }) {
    const at = Date.now();
    return { id: await admin.submit({}), at };
  },
  holds: async (field, { id }) => areAway(field) && (await field.runOf(id)).status === 'RUNNING',
  expects: {
    sentence: /^No worker of canary asks for work; its last sign of life was [\d.]+ s ago\.$/,
    evidence: { state: 'FIRST', pollers: 0 },
    nextAction: 'A person must start a worker; it then goes on by itself.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [],
    trail: WALKED,
    effects: STAGES,
    notifies: 'no_worker',
  },
};

/** Its start was accepted, and then Temporal lost the run, before any worker had taken it up. */
const startLost: FaultCase = {
  reason: 'start_lost',
  name: 'a run that Temporal lost before it began',
  before: ['backlog', 'no_worker'],
  seenWithinMs: SEEN_MS.byTemporal,
  async create(field) {
    const { admin, temporal, one } = field;
    const id = await admin.submit({});
    const text = 'SELECT 1 FROM items WHERE id = $1 AND accepted_at IS NOT NULL';
    await until('the row says that Temporal has it', () => one(text, [id]));
    const { handle } = await field.runOf(id);
    const at = Date.now();
    const { namespace } = temporal.options;
    const workflowExecution = { workflowId: handle.workflowId };
    await temporal.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
    await until('Temporal knows nothing of it', () => isUnknown(field, id));
    return { id, at };
  },
  holds: isLost,
  expects: {
    sentence:
      /^No worker has taken it up for [\d.]+ s; its start was accepted by Temporal, which knows no run of it now\.$/,
    evidence: { acceptedAt: /Z$/ },
    nextAction: 'The dispatcher starts it again.',
    nextAt: 'due',
    ends: 'DONE',
    receipts: [{ reason: 'start_lost', actorType: 'system', result: 'moving', stagesAgain: [] }],
    trail: walkedWith('rescue (system)'),
    effects: STAGES,
  },
};

async function isLost(field: Field, { id }: { id: string }): Promise<boolean> {
  return !(await itemOf(field.installation.pool, id)).started && isUnknown(field, id);
}

async function isUnknown(field: Field, id: string): Promise<boolean> {
  return (await field.runOf(id)).status === 'NONE';
}

export const FROZEN = [silentWorker];
export const FROZEN_FOR_LONG = [noWorkerAwake];
export const KILLED_BESIDE_FROZEN = [workerDied];
export const AWAY = [lastWorkerDied, noWorker, startLost];
