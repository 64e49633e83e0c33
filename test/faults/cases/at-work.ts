import { parcel } from '../parcel.js';
import { inTransaction } from '../../../src/db/postgres/client.js';
import { leaveRest } from '../../../src/db/spine/leave-rest.js';
import { createItem } from '../../../src/db/spine/items.js';
import { itemOf } from '../../support/facts.js';
import type { Actor } from '../../../src/db/spine/transition.js';
import { type FaultCase, STAGES, SUBMITTED, WALKED } from '../fault-case.js';
import type { Field } from '../field.js';
import { SEEN_MS } from '../settings.js';

/** Nothing is wrong: what is under way, done, or not wanted yet must not be taken for a fault. */

const running: FaultCase = {
  reason: 'running',
  name: 'a long stage',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  heldUntil: 'swept',
  async create(field) {
    const at = Date.now();
    return { id: await field.running('first', { stageMs: [20_000, 0, 0] }), at };
  },
  holds: async (field, { id }) => (await field.runningTasks(id)) === 1,
  expects: {
    sentence: /^worker-\d runs first, attempt 1; its last sign of life was [01]\.\d s ago\.$/,
    evidence: { stage: 'first', attempt: 1, worker: /^worker-\d$/ },
    nextAction: 'None is needed.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [],
    trail: WALKED,
    effects: STAGES,
  },
};

const finished: FaultCase = {
  reason: 'finished',
  name: 'a canary that is done',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  async create(field) {
    const id = await field.admin.submit({});
    await field.admin.reaches(id, 'DONE');
    return { id, at: Date.parse((await field.item(id)).endedAt ?? '') };
  },
  holds: async ({ installation }, { id }) => (await itemOf(installation.pool, id)).endedAt !== null,
  expects: {
    sentence: /^It ended in DONE [\d.]+ s ago\.$/,
    evidence: { state: 'DONE', endReason: null },
    nextAction: 'None is needed.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [],
    trail: WALKED,
    effects: STAGES,
  },
};

const cancelled: FaultCase = {
  ...finished,
  name: 'a canary that was cancelled',
  async create(field) {
    const id = await field.running('second', { stageMs: [0, 60_000, 0] });
    const at = Date.now();
    await field.admin.post(`/api/v1/items/${id}/cancel`, { reason: 'not wanted any more' });
    return { id, at };
  },
  expects: {
    ...finished.expects,
    sentence: /^It ended in FAILED [\d.]+ s ago, reason CANCELLED\.$/,
    evidence: { state: 'FAILED', endReason: 'CANCELLED' },
    ends: 'FAILED',
    trail: [SUBMITTED, 'first-done (worker)', 'cancelled (admin)'],
    effects: ['first'],
  },
};

const ROOT: Actor = { id: 'root', type: 'admin' };

/** As the route of a pipeline with uploads would. */
async function register({ installation }: Field): Promise<string> {
  const created = await inTransaction(installation.pool, (transaction) =>
    createItem(transaction, parcel, { owner: 'root', actor: ROOT, trigger: 'submitted' }),
  );
  return created.id;
}

async function leave({ installation }: Field, itemId: string, outcome: string): Promise<void> {
  await leaveRest(installation.pool, () => parcel, { itemId, actor: ROOT, outcome });
}

async function isIn({ installation }: Field, id: string, state: string): Promise<boolean> {
  return (await itemOf(installation.pool, id)).state === state;
}

const DELIVERED = {
  nextAt: 'none',
  ends: 'delivered',
  receipts: [],
  trail: [SUBMITTED, 'registered-confirmed (admin)', 'scheduled-picked (admin)', 'deliver-done (worker)'],
  effects: [],
} as const;

const awaitingUpload: FaultCase = {
  reason: 'awaiting_upload',
  name: 'an upload that is not confirmed',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  onTestPipeline: true,
  heldUntil: 'swept',
  async create(field) {
    const at = Date.now();
    return { id: await register(field), at };
  },
  holds: (field, { id }) => isIn(field, id, 'registered'),
  async heals(field, { id }) {
    await leave(field, id, 'confirmed');
    await leave(field, id, 'picked');
  },
  expects: {
    ...DELIVERED,
    sentence: /^It waits for its upload\.$/,
    evidence: { state: 'registered' },
    nextAction: 'A person must upload and confirm it.',
  },
};

const notDue: FaultCase = {
  reason: 'not_due',
  name: 'an item that nobody has picked',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  onTestPipeline: true,
  heldUntil: 'swept',
  async create(field) {
    const id = await register(field);
    const at = Date.now();
    await leave(field, id, 'confirmed');
    return { id, at };
  },
  holds: (field, { id }) => isIn(field, id, 'scheduled'),
  heals: (field, { id }) => leave(field, id, 'picked'),
  expects: {
    ...DELIVERED,
    sentence: /^Nothing is to be done for it yet\.$/,
    evidence: { state: 'scheduled' },
    nextAction: 'It is picked when it is due.',
  },
};

export const AT_WORK = [running, finished, cancelled, awaitingUpload, notDue];
