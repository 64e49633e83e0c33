import { itemOf } from '../../support/facts.js';
import { until } from '../../support/until.js';
import { type FaultCase, STAGES, SUBMITTED, WALKED } from '../fault-case.js';
import { SEEN_MS } from '../settings.js';

/** What a person has ordered, or must. Recovery must leave all of it alone, however long it takes. */

const awaitingDecision: FaultCase = {
  reason: 'awaiting_decision',
  name: 'a canary that asks its owner',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  heldUntil: 'swept',
  async create({ admin }) {
    const id = await admin.submit({ decision: true });
    const at = Date.now();
    await admin.reaches(id, 'AWAITING');
    return { id, at };
  },
  holds: async ({ installation }, { id }) => (await itemOf(installation.pool, id)).state === 'AWAITING',
  heals: ({ admin }, { id }) => admin.post(`/api/v1/items/${id}/decisions`, { outcome: 'approve' }),
  expects: {
    sentence: /^It waits in AWAITING for a decision of the owner\.$/,
    evidence: { state: 'AWAITING', awaits: 'owner', outcomes: 'approve, reject' },
    nextAction: 'A person must decide: approve or reject.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [],
    trail: [SUBMITTED, 'first-done (worker)', 'second-ask (worker)', 'owner-approve (admin)', 'third-done (worker)'],
    effects: STAGES,
  },
};

/** Its stage ends as it would, and the next one does not begin. */
const pausedItem: FaultCase = {
  reason: 'paused',
  name: 'an item that somebody paused',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  heldUntil: 'swept',
  async create(field) {
    const id = await field.running('first', { stageMs: [1_500, 0, 0] });
    const at = Date.now();
    await field.admin.post(`/api/v1/items/${id}/pause`, { reason: 'a look' });
    return { id, at };
  },
  holds: async ({ installation }, { id }) => (await itemOf(installation.pool, id)).pausedUntil !== null,
  heals: ({ admin }, { id }) => admin.post(`/api/v1/items/${id}/resume`, {}),
  expects: {
    sentence: /^It is paused until somebody resumes it: a look\.$/,
    evidence: { until: null, why: 'a look' },
    nextAction: 'A person must resume it.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [],
    trail: [SUBMITTED, 'paused (admin)', 'first-done (worker)', 'resumed (admin)', ...WALKED.slice(2)],
    effects: STAGES,
  },
};

const pausedPipeline: FaultCase = {
  reason: 'paused',
  name: 'a pipeline that somebody paused',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  heldUntil: 'swept',
  async create({ admin, one }) {
    const at = Date.now();
    await admin.post('/api/v1/pipelines/canary/pause', { for: '10m', reason: 'maintenance' });
    const id = await admin.submit({});
    await until('its run has come to the pause', () => one('SELECT 1 FROM tasks WHERE item_id = $1', [id]));
    return { id, at };
  },
  holds: async ({ one }) =>
    (await one(`SELECT 1 FROM holds WHERE pipeline = 'canary' AND kind = 'pause' AND until > now()`, [])) !== undefined,
  heals: ({ admin }) => admin.post('/api/v1/pipelines/canary/resume', {}),
  expects: {
    sentence: /^The pipeline canary is paused until \S+Z: maintenance\.$/,
    evidence: { until: /Z$/, why: 'maintenance' },
    nextAction: 'It goes on by itself.',
    nextAt: 'ahead',
    ends: 'DONE',
    receipts: [],
    trail: WALKED,
    effects: STAGES,
  },
};

export const PEOPLE = [awaitingDecision, pausedItem];
export const PAUSED_PIPELINE = [pausedPipeline];
