import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { Via } from '../../../../src/core/machine.js';
import { cancelItem, retryItem } from '../../../../src/db/spine/control.js';
import { decideItem } from '../../../../src/db/spine/decide-item.js';
import { exhaustItem } from '../../../../src/db/recovery/give-up.js';
import { recordTransition, SYSTEM } from '../../../../src/db/spine/transition.js';
import { submission } from '../../../../src/domains/submission/table.js';
import { auditOf, itemOf, lastMetadataOf, trailFaults } from '../../../support/facts.js';
import { submitted } from '../support/skills.js';
import { byHand, codeOf, findIn, ROOT, useSpine } from '../../../support/spine.js';

const spine = useSpine();
const find = findIn(submission);

type State = keyof typeof ALLOWED;

/** The legal moves, word for word from the specification and not from the table under test. */
const ALLOWED = {
  RECEIVED: { VENDOR_APPROVED: ['outcome'], TIER1_SCANNING: ['outcome'], REJECTED: ['cancel', 'exhaustion'] },
  VENDOR_APPROVED: { PUBLISHED: ['outcome'], REJECTED: ['spent', 'cancel', 'exhaustion'] },
  TIER1_SCANNING: {
    TIER2_SCANNING: ['outcome'],
    TIER1_FAILED: ['outcome', 'spent'],
    REJECTED: ['cancel', 'exhaustion'],
  },
  TIER2_SCANNING: {
    AUTO_APPROVED: ['outcome'],
    NEEDS_REVIEW: ['outcome', 'exhaustion'],
    REJECTED: ['outcome', 'cancel', 'exhaustion'],
  },
  NEEDS_REVIEW: { TIER3_REVIEW: ['outcome'], REJECTED: ['outcome', 'cancel'] },
  TIER3_REVIEW: { PUBLISHED: ['outcome'], REJECTED: ['outcome', 'cancel'] },
  AUTO_APPROVED: { PUBLISHED: ['outcome'], REJECTED: ['cancel', 'exhaustion'] },
  PUBLISHED: {},
  REJECTED: {},
  TIER1_FAILED: {},
} as const satisfies Record<string, Partial<Record<string, readonly Via[]>>>;

const STATES = Object.keys(ALLOWED) as State[];
const FINAL: readonly State[] = ['PUBLISHED', 'REJECTED', 'TIER1_FAILED'];
const LIVE = STATES.filter((state) => !FINAL.includes(state));

/** States from which an admin may retry, in a new visit. A retry from any other state would skip the scan or the judge. */
const BEGUN_ANEW: readonly State[] = ['RECEIVED', 'TIER1_SCANNING'];

const VIAS = Object.keys({
  ...{ outcome: 0, spent: 0, cancel: 0, exhaustion: 0, rescue: 0, reopen: 0, retry: 0 },
  ...{ pause: 0, resume: 0, park: 0, reprioritize: 0, restart: 0, note: 0 },
} satisfies Record<Via, 0>) as Via[];

/** Moves that keep the state: they change a flag, or drive the item on in the same state. */
const STAYING: readonly Via[] = ['rescue', 'pause', 'resume', 'park', 'reprioritize', 'restart'];

function allowed(from: State, to: State): Via[] {
  const moves: Partial<Record<State, readonly Via[]>> = ALLOWED[from];
  const isLive = LIVE.includes(from);
  return [
    ...(moves[to] ?? []),
    ...(isLive && BEGUN_ANEW.includes(to) ? (['retry'] as const) : []),
    ...(isLive && from === to ? STAYING : []),
    // A note is an entry about the item's run. It changes nothing of the item, which may have ended.
    ...(from === to ? (['note'] as const) : []),
  ].toSorted();
}

const SCANNED = ['checkVendor:other', 'fetch', 'scanTier1:pass'];

/** Stages, with their outcomes, that lead to each state. */
const WAYS: Readonly<Record<State, readonly string[]>> = {
  RECEIVED: [],
  VENDOR_APPROVED: ['checkVendor:vendor'],
  TIER1_SCANNING: ['checkVendor:other'],
  TIER1_FAILED: ['checkVendor:other', 'fetch', 'scanTier1:fail'],
  TIER2_SCANNING: SCANNED,
  AUTO_APPROVED: [...SCANNED, 'judgeTier2:pass'],
  NEEDS_REVIEW: [...SCANNED, 'judgeTier2:concerns'],
  TIER3_REVIEW: [...SCANNED, 'judgeTier2:concerns'],
  PUBLISHED: [...SCANNED, 'judgeTier2:pass', 'publish'],
  REJECTED: [...SCANNED, 'judgeTier2:fail'],
};

async function submissionIn(state: State): Promise<string> {
  const id = await submitted(spine.pool);
  await byHand(spine.pool, submission).walk(id, ...WAYS[state]);
  if (state === 'TIER3_REVIEW') {
    await decideItem(spine.pool, find, { id: `${id}:escalate`, itemId: id, actor: ROOT, outcome: 'escalate' });
  }
  expect((await itemOf(spine.pool, id)).state).toBe(state);
  return id;
}

/** Whether the mechanism makes this move. The transaction is rolled back afterwards. */
async function isMade(client: pg.PoolClient, id: string, move: { from: State; to: State; via: Via }): Promise<boolean> {
  const { visit, epoch } = await itemOf(spine.pool, id);
  const flags = { pausedUntil: 'infinity', reason: 'tried', priority: 1 } as const;
  const whole = { ...move, ...flags, trigger: 'tried', actor: SYSTEM };
  await client.query('BEGIN');
  try {
    return (await recordTransition(client, submission, { itemId: id, state: move.from, visit, epoch }, whole)) !== null;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  } finally {
    await client.query('ROLLBACK');
  }
}

describe('a submission leaves its state only by legal moves', () => {
  it.each(STATES)('%s goes where the specification says, and nowhere else', async (from) => {
    const id = await submissionIn(from);
    const before = await auditOf(spine.pool, id);
    const client = await spine.pool.connect();
    try {
      for (const to of STATES) {
        const made: Via[] = [];
        for (const via of VIAS) if (await isMade(client, id, { from, to, via })) made.push(via);
        expect({ from, to, made: made.toSorted() }).toEqual({ from, to, made: allowed(from, to) });
      }
    } finally {
      client.release();
    }
    expect(await auditOf(spine.pool, id)).toEqual(before);
  });
});

describe('a recovery move leaves its own entry', () => {
  async function lastOf(id: string): Promise<object> {
    expect(await trailFaults(spine.pool, id)).toEqual([]);
    const { from, to, trigger, actor, actorType } = (await auditOf(spine.pool, id)).at(-1) ?? {};
    return { from, to, trigger, actor, actorType, metadata: await lastMetadataOf(spine.pool, id) };
  }

  async function giveUp(id: string): Promise<void> {
    const { epoch, version } = await itemOf(spine.pool, id);
    const cause = { reason: 'worker_died', sentence: 'worker-1 died.' };
    await exhaustItem(spine.pool, find, { itemId: id, actor: SYSTEM, seen: epoch, seenVersion: version, cause });
  }

  const byWorker = { actor: 'worker', actorType: 'worker' };
  const bySystem = { actor: 'system', actorType: 'system' };

  it.each(LIVE.filter((state) => !state.endsWith('_REVIEW')))('when nothing gets it on from %s', async (from) => {
    const id = await submissionIn(from);

    await giveUp(id);

    expect(await lastOf(id)).toEqual({
      ...{ from, to: 'REJECTED', trigger: 'stuck-exhausted', ...bySystem },
      metadata: { reason: 'STUCK_EXHAUSTED', stopped: 'worker_died', sentence: 'worker-1 died.', rescues: 0 },
    });
  });

  it('when the judge stays away: a person is asked', async () => {
    const id = await submissionIn('TIER2_SCANNING');
    const hand = byHand(spine.pool, submission);
    const error = { class: 'LLM_ERROR', message: 'no answer', stage: 'judgeTier2' } as const;
    await hand.commit(await hand.claimed(id), { is: 'spent', error });

    await giveUp(id);

    expect(await lastOf(id)).toMatchObject({
      ...{ from: 'TIER2_SCANNING', to: 'NEEDS_REVIEW', trigger: 'judge-unavailable', ...bySystem },
      metadata: { reason: 'STUCK_EXHAUSTED' },
    });
  });

  it.each(LIVE)('when it is cancelled in %s', async (from) => {
    const id = await submissionIn(from);

    await cancelItem(spine.pool, find, { itemId: id, actor: ROOT, reason: 'a mistake' });

    expect(await lastOf(id)).toEqual({
      ...{ from, to: 'REJECTED', trigger: 'cancelled', actor: 'root', actorType: 'admin' },
      metadata: { reason: 'a mistake' },
    });
  });

  it.each([
    ['TIER1_SCANNING', 'fetch', { to: 'TIER1_FAILED', trigger: 'fetch-failed', ...byWorker }],
    ['TIER1_SCANNING', 'scanTier1', { to: 'TIER1_FAILED', trigger: 'tier1-timeout', ...byWorker }],
    ['VENDOR_APPROVED', 'fetchVendor', { to: 'REJECTED', trigger: 'fetch-failed', ...bySystem }],
  ] as const)('when the tries of %s, at %s, are spent', async (from, stage, end) => {
    const id = await submissionIn(from);
    const hand = byHand(spine.pool, submission);
    if (stage === 'scanTier1') await hand.walk(id, 'fetch');
    const error = { class: 'SCAN_TIMEOUT', message: 'too slow', stage } as const;

    await hand.commit(await hand.claimed(id, { stage }), { is: 'spent', error });

    expect(await lastOf(id)).toMatchObject({ from, ...end });
  });
});

describe('a fault in publishing', () => {
  it.each([
    ['VENDOR_APPROVED', 'publishVendor', ['fetchVendor']],
    ['AUTO_APPROVED', 'publish', []],
  ] as const)(
    'of a skill in %s is not told as one in fetching: recovery goes on with %s',
    async (state, stage, before) => {
      const id = await submissionIn(state);
      const hand = byHand(spine.pool, submission);
      await hand.walk(id, ...before);
      const error = { class: 'DB_ERROR', message: 'no room', stage } as const;

      await hand.commit(await hand.claimed(id, { stage }), { is: 'spent', error });

      expect(await itemOf(spine.pool, id)).toMatchObject({ state, runEndedAt: expect.any(Date) as Date });
    },
  );
});

describe('what a person asks for out of turn is refused', () => {
  it.each(LIVE.filter((state) => !state.endsWith('_REVIEW')))('a decision in %s', async (state) => {
    const id = await submissionIn(state);
    const decision = { id: `${id}:early`, itemId: id, actor: ROOT, outcome: 'approve' };

    expect(await codeOf(decideItem(spine.pool, find, decision))).toBe('state_conflict');
  });

  it.each(['NEEDS_REVIEW', 'TIER3_REVIEW'] as const)('to reject in %s without saying why', async (state) => {
    const id = await submissionIn(state);
    const decision = { id: `${id}:bare`, itemId: id, actor: ROOT, outcome: 'reject' };

    expect(await codeOf(decideItem(spine.pool, find, decision))).toBe('reason_needed');
    expect((await itemOf(spine.pool, id)).state).toBe(state);
    expect(await codeOf(decideItem(spine.pool, find, { ...decision, reason: 'Too much.' }))).toBe('no error: REJECTED');
  });

  it.each(FINAL)('anything at all in %s', async (state) => {
    const id = await submissionIn(state);
    const asked = { itemId: id, actor: ROOT };

    expect(await codeOf(cancelItem(spine.pool, find, asked))).toBe('state_conflict');
    expect(await codeOf(retryItem(spine.pool, find, asked))).toBe('state_conflict');
    expect(await codeOf(decideItem(spine.pool, find, { ...asked, id: `${id}:late`, outcome: 'approve' }))).toBe(
      'state_conflict',
    );
  });

  it.each([
    ['NEEDS_REVIEW', 'AUTO_APPROVED'],
    ['NEEDS_REVIEW', 'VENDOR_APPROVED'],
    ['TIER1_SCANNING', 'TIER2_SCANNING'],
  ] as const)('in %s to begin anew in %s, past the scan or the judge', async (state, from) => {
    const id = await submissionIn(state);

    expect(await codeOf(retryItem(spine.pool, find, { itemId: id, actor: ROOT, from }))).toBe('invalid_input');
    expect((await itemOf(spine.pool, id)).state).toBe(state);
  });
});
