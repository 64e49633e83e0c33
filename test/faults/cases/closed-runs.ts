import { isPresent } from '../../../src/db/recovery/gone-worker.js';
import { itemOf, taskOf } from '../../support/facts.js';
import { until } from '../../support/until.js';
import { type FaultCase, STAGES, walkedWith, type WantedReceipt } from '../fault-case.js';
import type { Field } from '../field.js';
import { OLDEST_MS, SEEN_MS, STUCK_MS } from '../settings.js';

/** Runs that somebody ended in Temporal while their item was on its way. */

const RESCUED: WantedReceipt = {
  reason: 'workflow_closed',
  actorType: 'system',
  result: 'moving',
  stagesAgain: ['first'],
};

/** Long enough that nothing but its run's end keeps the item from going on. */
const LONG = { stageMs: [12_000, 0, 0] };

async function isClosed(field: Field, id: string, epoch: number): Promise<boolean> {
  const item = await itemOf(field.installation.pool, id);
  if (item.epoch !== epoch || item.endedAt) return false;
  return (await field.runOf(id)).status !== 'RUNNING';
}

async function firstRuns(field: Field, id: string, epoch: number): Promise<void> {
  const { pool } = field.installation;
  await until(`run ${String(epoch)} is at work`, async () => {
    const isOfEpoch = (await itemOf(pool, id)).epoch === epoch;
    return isOfEpoch && (await taskOf(pool, id, 'first')).status === 'running';
  });
}

/** The run says so with its last act, so the row knows at once. */
async function cancelRun(field: Field, id: string): Promise<number> {
  const { handle } = await field.runOf(id);
  const at = Date.now();
  await handle.cancel();
  const hasSaid = async () => (await itemOf(field.installation.pool, id)).runEndedAt !== null;
  await until('the run has said that it ended', hasSaid);
  return at;
}

const terminated: FaultCase = {
  reason: 'workflow_closed',
  name: 'a run that was terminated by hand',
  before: ['running', 'backlog'],
  seenWithinMs: SEEN_MS.byTemporal,
  async create(field) {
    const id = await field.running('first', LONG);
    const { handle } = await field.runOf(id);
    const at = Date.now();
    await handle.terminate('by the fault set');
    return { id, at };
  },
  holds: (field, { id }) => isClosed(field, id, 1),
  expects: {
    sentence: /^Its run ended without a word \(terminated\), before the item did\.$/,
    evidence: { runEndedAt: null, closedAs: 'terminated', rescues: 0 },
    nextAction: 'The next sweep rescues it.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [RESCUED],
    trail: walkedWith('rescue (system)'),
    effects: STAGES,
  },
};

const cancelled: FaultCase = {
  ...terminated,
  name: 'a run that was cancelled by hand',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  async create(field) {
    const id = await field.running('first', LONG);
    // The next sweep rescues it at once, for its row knows: it is looked at until then.
    await until('a sweep has just been', () => field.one(SWEPT_JUST_NOW, []));
    return { id, at: await cancelRun(field, id) };
  },
  expects: {
    ...terminated.expects,
    sentence: /^Its run ended [\d.]+ s ago(?: \((?:canceled|cancelled)\))?, before the item did\.$/,
    evidence: { runEndedAt: /Z$/, rescues: 0 },
  },
};

const SWEPT_JUST_NOW = `SELECT 1 FROM job_executions
  WHERE job = 'sweep-canary' AND status = 'completed' AND ended_at > now() - interval '500 milliseconds'`;

const rescueWait: FaultCase = {
  reason: 'rescue_wait',
  name: 'a rescued run that was cancelled again',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  async create(field) {
    const id = await field.running('first', LONG);
    await cancelRun(field, id);
    await firstRuns(field, id, 2);
    return { id, at: await cancelRun(field, id) };
  },
  async holds(field, { id }) {
    const text = 'SELECT 1 FROM items WHERE id = $1 AND next_rescue_after > now()';
    return (await field.one(text, [id])) !== undefined && isClosed(field, id, 2);
  },
  expects: {
    sentence: /^Its run ended after 1 rescue; nothing is done before \S+Z\.$/,
    evidence: { rescues: 1, nextRescueAfter: /Z$/ },
    nextAction: 'The first sweep after that rescues it.',
    nextAt: (nextAt, { rescue }) => nextAt !== null && nextAt === rescue.nextRetryAfter,
    ends: 'DONE',
    receipts: [RESCUED, RESCUED],
    trail: walkedWith('rescue (system)', 'rescue (system)'),
    effects: STAGES,
  },
};

/** Nobody could rescue it in time: there was no worker for longer than work may lie about. */
const parked: FaultCase = {
  reason: 'parked',
  name: 'a run that was terminated, found too late',
  before: ['worker_died', 'no_worker', 'workflow_closed'],
  seenWithinMs: SEEN_MS.bySweep,
  heldUntil: 'swept',
  async create(field) {
    const { installation } = field;
    const id = await field.running('first', LONG);
    const { handle } = await field.runOf(id);
    await Promise.all([installation.takeAway('worker-1'), installation.takeAway('worker-2')]);
    await handle.terminate('by the fault set');
    const silentFor = `SELECT 1 FROM items i WHERE id = $1 AND greatest(beat_at, (
      SELECT max(beat_at) FROM tasks WHERE item_id = i.id)) < now() - $2 * interval '1 millisecond'`;
    await until('it is too old', () => field.one(silentFor, [id, OLDEST_MS + STUCK_MS / 10]));
    for (const worker of ['worker-1', 'worker-2'] as const) installation.release(worker);
    // A busy machine starts a worker slowly, and until a worker is there the right reason is no_worker.
    await until('a worker is there', () => field.one(`SELECT 1 FROM workers w WHERE ${isPresent('w')}`, []));
    return { id, at: Date.now() };
  },
  holds: (field, { id }) => isClosed(field, id, 1),
  heals: ({ admin }, { id }) => admin.post(`/api/v1/items/${id}/retry`, { reason: 'it is still wanted' }),
  expects: {
    sentence: /^It was parked [\d.]+ s ago: silent for longer than \d+\w+\.$/,
    evidence: { parkedAt: /Z$/, why: /^silent for longer than/ },
    nextAction: 'A person must retry or cancel it.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [
      { reason: 'workflow_closed', actorType: 'system', result: 'parked', stagesAgain: [] },
      { reason: 'parked', actorType: 'admin', result: 'moving', stagesAgain: ['first'] },
    ],
    trail: walkedWith('parked (system)', 'rescue (admin)'),
    effects: STAGES,
    notifies: 'item_parked',
  },
};

export const TERMINATED = [terminated];
export const ENDED_AGAIN = [cancelled, rescueWait];
export const PARKED = [parked];
