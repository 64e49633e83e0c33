import { taskOf } from '../../support/facts.js';
import { until } from '../../support/until.js';
import { type FaultCase, STAGES, SUBMITTED, type Victim, WALKED } from '../fault-case.js';
import type { Field } from '../field.js';
import { SEEN_MS, SLOTS } from '../settings.js';

/** Attempts that fail, fail for many at once, or find no place to run. */

const retrying: FaultCase = {
  reason: 'retrying',
  name: 'a stage that fails twice',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  async create(field) {
    const faults = [1, 2].map((attempt) => ({ stage: 'first', kind: 'fail', attempt }));
    const id = await field.admin.submit({ faults });
    await until('it has failed', () => hasFailed(field, id));
    return { id, at: Date.now() };
  },
  async holds(field, { id }) {
    if (!(await hasFailed(field, id))) return false;
    const { status, attempt } = await taskOf(field.installation.pool, id, 'first');
    return status === 'waiting' && attempt;
  },
  expects: {
    sentence:
      /^first failed on attempt [12] with UNKNOWN \(asked to fail on attempt [12]\); the next try (is|has been) due/,
    evidence: {
      stage: 'first',
      attempt: (value) => value === 1 || value === 2,
      class: 'UNKNOWN',
      message: /^asked to fail/,
    },
    nextAction: 'It is tried again.',
    nextAt: 'due',
    ends: 'DONE',
    receipts: [],
    trail: WALKED,
    effects: STAGES,
  },
};

async function hasFailed({ one }: Field, id: string): Promise<boolean> {
  return (await one(`SELECT 1 FROM attempts WHERE item_id = $1 AND result = 'error'`, [id])) !== undefined;
}

const UNITS = 6;

/** Of one stage alone, so that other canaries are not held. Its class is nobody else's either. */
const breakerOpen: FaultCase = {
  reason: 'breaker_open',
  name: 'a storm of failures with one cause',
  before: [],
  seenWithinMs: SEEN_MS.byRow,
  heldUntil: 'swept',
  async create({ admin, one }) {
    const outage = await admin.submit({ decision: true });
    await admin.reaches(outage, 'AWAITING');
    const faults = [{ stage: 'spread', kind: 'failWhile', item: outage, class: 'LLM_ERROR' }];
    const id = await admin.submit({ units: UNITS, faults });
    await until('the breaker is open', () => one(OPEN_BREAKER, []));
    return { id, at: Date.now(), others: [outage] };
  },
  async holds(field, { id }) {
    return (await field.one(OPEN_BREAKER, [])) !== undefined && (await field.runningTasks(id)) === 0;
  },
  heals: cancelOthers,
  expects: {
    sentence: /^canary is held because too many attempts failed with LLM_ERROR: /,
    evidence: { class: 'LLM_ERROR', until: /Z$/, why: (value) => typeof value === 'string' && value !== '' },
    nextAction: 'One item is let through to try.',
    nextAt: 'due',
    ends: 'DONE',
    receipts: [],
    trail: [SUBMITTED, 'first-split (worker)', 'spread-done (worker)', ...WALKED.slice(2)],
    effects: ['first', ...Array<string>(UNITS).fill('spread'), 'second', 'third'],
    notifies: 'breaker_opened',
  },
};

const OPEN_BREAKER = `SELECT 1 FROM breakers WHERE class = 'LLM_ERROR' AND state = 'open'`;

/** As many as can run, and some that wait with the victim. */
const FLOOD = SLOTS + 3;

const backlog: FaultCase = {
  reason: 'backlog',
  name: 'a queue that is flooded',
  before: ['not_due', 'start_lost'],
  seenWithinMs: SEEN_MS.byRow,
  heldUntil: 'swept',
  async create(field) {
    const { admin } = field;
    const flood = Array.from({ length: FLOOD }, () => admin.submit({ stageMs: [300_000, 0, 0] }));
    const others = await Promise.all(flood);
    await until('every slot is taken', () => isFull(field));
    const at = Date.now();
    return { id: await admin.submit({}), at, others };
  },
  async holds(field, { id }) {
    const isTaken = (await field.one('SELECT 1 FROM tasks WHERE item_id = $1', [id])) !== undefined;
    return !isTaken && (await isFull(field)) && (await field.runOf(id)).status === 'RUNNING';
  },
  heals: cancelOthers,
  expects: {
    sentence: /^It waits for a free worker \(its run is alive; \d+ tasks? for 2 workers\); its last sign of life was/,
    evidence: { engine: 'alive', pollers: 2, backlog: (value) => typeof value === 'number' && value > 0 },
    nextAction: 'The next free worker takes it.',
    nextAt: 'none',
    ends: 'DONE',
    receipts: [],
    trail: WALKED,
    effects: STAGES,
    notifies: 'backlog',
  },
};

async function isFull({ one }: Field): Promise<boolean> {
  const text = `SELECT count(*)::int AS n FROM tasks WHERE status = 'running'`;
  return ((await one<{ n: number }>(text, []))?.n ?? 0) >= SLOTS;
}

async function cancelOthers({ admin }: Field, { others = [] }: Victim): Promise<void> {
  await Promise.all(others.map((id) => admin.post(`/api/v1/items/${id}/cancel`, { reason: 'the fault is over' })));
}

export const FAILING = [retrying];
export const STORM = [breakerOpen];
export const FLOODED = [backlog];
