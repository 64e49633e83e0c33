import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { definePipeline, stage } from '../../../src/core/pipeline.js';
import type { ItemAnswer } from '../../../src/api/items/item-schema.js';
import type { Claimed, Ending } from '../../../src/db/spine/attempt.js';
import { claimTask } from '../../../src/db/spine/claim/claim.js';
import { inTransaction } from '../../../src/db/postgres/client.js';
import { commitAttempt } from '../../../src/db/spine/commit.js';
import { decideItem } from '../../../src/db/spine/decide-item.js';
import { createItem } from '../../../src/db/spine/items.js';
import { canary } from '../../../src/domains/canary/table.js';
import { endWaiters, holdItem } from '../../support/barrier.js';
import { ADMIN, ALICE, BOB, openApi, REVIEWER, submit, type TestApi, VIEWER, type Who } from '../setup.js';

const review = definePipeline({
  name: 'review',
  start: 'CHECKING',
  sweep: { every: '5m', staleAfter: '3m', stuckAfter: '5m' },
  rescue: { budget: 3, backoff: ['3m'], budgetResetAfter: '24h', oldestRescued: '7d', exhausted: 'REJECTED' },
  cancelled: 'REJECTED',
  states: {
    CHECKING: {
      does: stage('check', { tries: 1, within: '1m', spent: { move: 'REJECTED' } }),
      then: { done: 'WAITING', ask: 'CONFIRMING' },
    },
    CONFIRMING: { awaits: 'owner', then: { confirm: 'WAITING', refuse: 'REJECTED' } },
    WAITING: { awaits: 'reviewer', then: { accept: 'PUBLISHED', refuse: 'REJECTED' } },
    PUBLISHED: { ends: 'done' },
    REJECTED: { ends: 'failed' },
  },
});

let api: TestApi;
beforeAll(async () => {
  // What the decision on a canary brings about besides its move.
  const saved = async (_: unknown, itemId: string) => Promise.resolve({ ticket: `for ${itemId}` });
  api = await openApi({ pipelines: { canary, review }, decisionSaves: { canary: { AWAITING: { approve: saved } } } });
});
beforeEach(() => {
  api.engine.mood = 'well';
});
afterAll(() => api.close());

async function show(id: string, as: Who = ALICE): Promise<ItemAnswer> {
  const response = await api.call({ url: `/api/v1/items/${id}`, as });
  expect(response.statusCode).toBe(200);
  return response.json<ItemAnswer>();
}

async function claim(itemId: string, state: string, stageName: string, unit = ''): Promise<Claimed> {
  const attempt = {
    ...{ itemId, state, unit, stage: stageName, visit: 1, epoch: 1, claimId: randomUUID() },
    ...{ token: null, scheduledAt: null, isRetried: false, worker: 'worker-1', places: 1 },
  };
  const answer = await claimTask(api.database.pool, canary, attempt);
  if (answer.is !== 'run') throw new Error(`claim answered ${answer.is}`);
  return answer.claimed;
}

async function commit(claimed: Claimed, ending: Ending): Promise<void> {
  const committed = await commitAttempt(api.database.pool, canary, claimed, ending);
  if (committed === 'superseded') throw new Error('refused');
}

/** A canary of alice's that has come to its decision. */
async function awaitingDecision(): Promise<string> {
  const { id } = await submit(api, ALICE, { decision: true });
  await commit(await claim(id, 'FIRST', 'first'), { is: 'done', outcome: 'done' });
  await commit(await claim(id, 'SECOND', 'second'), { is: 'done', outcome: 'ask' });
  return id;
}

async function itemOf(pipeline: 'review' | 'unheard-of', state: string): Promise<string> {
  const table = { ...review, name: pipeline };
  const created = await inTransaction(api.database.pool, (transaction) =>
    createItem(transaction, table, { owner: 'alice', actor: { id: 'alice', type: 'user' }, trigger: 'submitted' }),
  );
  await api.database.pool.query('UPDATE items SET state = $2, started = true WHERE id = $1', [created.id, state]);
  return created.id;
}

function decide(id: string, payload: object, as: Who = ALICE, key?: string) {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  return api.call({ method: 'POST', url: `/api/v1/items/${id}/decisions`, as, payload, headers });
}

describe('an item as its owner sees it', () => {
  it('is new: nothing has run, and a run is on its way', async () => {
    const { id, createdAt } = await submit(api, ALICE);
    expect(await show(id)).toMatchObject({
      ...{
        id,
        pipeline: 'canary',
        owner: 'alice',
        state: 'FIRST',
        live: true,
        visit: 1,
        epoch: 1,
        version: 1,
        createdAt,
      },
      ...{ endedAt: null, error: null, paused: null, parked: null, decision: null, degraded: false },
      tasks: [],
      inflight: [],
      inflightCount: 0,
      timeline: [{ kind: 'move', from: null, to: 'FIRST', trigger: 'submitted', actor: 'alice', actorType: 'user' }],
      timelineTruncated: false,
      links: { temporal: null },
    });
  });

  it('runs: the stage, its worker and its last sign of life are shown, with the way to its run', async () => {
    const { id } = await submit(api, ALICE);
    await claim(id, 'FIRST', 'first');
    const item = await show(id);
    expect(item.inflight).toEqual([
      {
        ...{ stage: 'first', attempt: 1, worker: 'worker-1', progress: null },
        startedAt: expect.any(String) as string,
        beatAt: expect.any(String) as string,
      },
    ]);
    expect(item.diagnosis).toMatchObject({ reason: 'running', evidence: { worker: 'worker-1' } });
    expect(item.links.temporal).toBe(
      `http://127.0.0.1:8233/namespaces/default/workflows/${encodeURIComponent(`canary:${id}:1`)}`,
    );
  });

  it('failed once: the error, the attempt and the next try are shown', async () => {
    const { id } = await submit(api, ALICE);
    const error = { class: 'NETWORK_ERROR', message: 'the other side hung up', stage: 'first' } as const;
    await commit(await claim(id, 'FIRST', 'first'), { is: 'error', error, retryInMs: 60_000 });
    const item = await show(id);
    expect(item.error).toEqual({ classification: 'NETWORK_ERROR', message: 'the other side hung up', stage: 'first' });
    expect(item.timeline.at(-1)).toMatchObject({
      ...{ kind: 'attempt', stage: 'first', attempt: 1, worker: 'worker-1', result: 'error' },
      error: { classification: 'NETWORK_ERROR' },
    });
    expect(item.diagnosis).toMatchObject({ reason: 'retrying', nextAt: expect.any(String) as string });
    expect(item.tasks).toEqual([{ stage: 'first', status: 'waiting', count: 1 }]);

    await claim(id, 'FIRST', 'first');
    expect((await show(id)).inflight).toMatchObject([{ attempt: 2, error: { classification: 'NETWORK_ERROR' } }]);
  });

  it('has a timeline in which an attempt comes before the move it made', async () => {
    const id = await awaitingDecision();
    const { timeline } = await show(id);
    expect(timeline.map((line) => (line.kind === 'move' ? `${line.from ?? ''}→${line.to}` : line.stage))).toEqual([
      '→FIRST',
      'first',
      'FIRST→SECOND',
      'second',
      'SECOND→AWAITING',
    ]);
  });

  it('shows fifty running units of many, and counts them all', async () => {
    const { id } = await submit(api, ALICE, { units: 70 });
    const units = Array.from({ length: 70 }, (_, n) => `unit-${String(n + 1)}`);
    await commit(await claim(id, 'FIRST', 'first'), { is: 'done', outcome: 'split', units });
    await api.database.pool.query(
      `UPDATE tasks SET status = 'running', attempt = 1, started_at = now(), beat_at = now(), worker = 'worker-1'
       WHERE item_id = $1 AND position <= 60 AND unit <> ''`,
      [id],
    );
    const item = await show(id);
    expect(item.inflight).toHaveLength(50);
    expect(item.inflight[0]?.unit).toMatch(/^unit-/);
    expect(item.inflightCount).toBe(60);
    expect(item.tasks).toEqual([
      { stage: 'first', status: 'done', count: 1 },
      { stage: 'spread', status: 'running', count: 60 },
      { stage: 'spread', status: 'waiting', count: 10 },
    ]);
  });

  it('keeps the latest of a long timeline, and says so', async () => {
    const { id } = await submit(api, ALICE);
    await api.database.pool.query(
      `INSERT INTO attempts (item_id, visit, stage, attempt, fence, started_at, ended_at, result)
       SELECT $1, 1, 'first', n, n, now() + n * interval '1 second', now() + n * interval '1 second', 'error'
       FROM generate_series(1, 250) AS n`,
      [id],
    );
    const { timeline, timelineTruncated } = await show(id);
    expect(timelineTruncated).toBe(true);
    expect(timeline).toHaveLength(200);
    expect(timeline.at(-1)).toMatchObject({ kind: 'attempt', attempt: 250 });
    expect(timeline[0]).toMatchObject({ kind: 'attempt', attempt: 51 });
  });

  it('can be paused without an end', async () => {
    const { id } = await submit(api, ALICE);
    await api.database.pool.query(`UPDATE items SET paused_until = 'infinity', pause_reason = 'a look' WHERE id = $1`, [
      id,
    ]);
    expect(await show(id)).toMatchObject({
      paused: { until: null, reason: 'a look' },
      diagnosis: { reason: 'paused', nextAt: null },
    });
  });

  it('is held with its whole pipeline', async () => {
    const id = await itemOf('review', 'CHECKING');
    await api.database.pool.query(
      `INSERT INTO holds (pipeline, kind, until, reason, set_by) VALUES ('review', 'pause', 'infinity', 'an upgrade', 'adam')`,
    );
    expect((await show(id)).diagnosis).toMatchObject({ reason: 'paused', nextAt: null });
    await api.database.pool.query('DELETE FROM holds');
  });

  it('ran on a worker that is gone', async () => {
    const { id } = await submit(api, ALICE);
    await claim(id, 'FIRST', 'first');
    await api.database.pool.query(
      `INSERT INTO workers (id, name, host, pid, build, pipelines, stopped_at)
       VALUES ('worker-1', 'left', 'here', 1, 'x', '{canary}', now())`,
    );
    expect((await show(id)).diagnosis).toMatchObject({ reason: 'worker_died', evidence: { worker: 'left' } });
    await api.database.pool.query('DELETE FROM workers');
  });

  it('is readable though this version does not know its pipeline', async () => {
    const id = await itemOf('unheard-of', 'SOMEWHERE');
    expect(await show(id)).toMatchObject({ pipeline: 'unheard-of', state: 'SOMEWHERE', decision: null });
    expect((await decide(id, { outcome: 'approve' })).json()).toMatchObject({ status: 409, code: 'state_conflict' });
  });

  it('is shown to operators too', async () => {
    const { id } = await submit(api, ALICE);
    for (const as of [ADMIN, REVIEWER, VIEWER]) expect((await show(id, as)).owner).toBe('alice');
  });
});

describe('deciding', () => {
  it('moves the item at once, and wakes its run', async () => {
    const id = await awaitingDecision();
    expect((await show(id)).decision).toEqual({
      awaits: 'owner',
      outcomes: ['approve', 'reject'],
      needsReason: [],
    });

    const response = await decide(id, { outcome: 'approve', reason: 'looks good' });

    expect(response.statusCode).toBe(200);
    const item = response.json<ItemAnswer>();
    expect(item).toMatchObject({ state: 'THIRD', decision: null });
    expect(item.timeline.at(-1)).toMatchObject({ to: 'THIRD', actor: 'alice', metadata: { reason: 'looks good' } });
    expect(api.engine.woken).toContainEqual(expect.objectContaining({ pipeline: 'canary', itemId: id, epoch: 1 }));
  });

  it('brings about what its pipeline has registered for this outcome, and nothing for another', async () => {
    const [approved, rejected] = [await awaitingDecision(), await awaitingDecision()];
    const lastOf = async (id: string, outcome: string) =>
      (await decide(id, { outcome })).json<ItemAnswer>().timeline.at(-1);

    expect(await lastOf(approved, 'approve')).toMatchObject({ metadata: { ticket: `for ${approved}` } });
    expect(await lastOf(rejected, 'reject')).toMatchObject({ to: 'FAILED', metadata: {} });
    expect((await show(rejected)).timeline.at(-1)).not.toHaveProperty('metadata.ticket');
  });

  it.each(['away', 'silent'] as const)('needs no engine: it may be %s', async (mood) => {
    const id = await awaitingDecision();
    api.engine.mood = mood;
    const response = await decide(id, { outcome: 'reject' });
    expect(response.json()).toMatchObject({ state: 'FAILED', live: false, endReason: 'REJECT' });
  });

  it('with a key is one decision however often it is sent, also at once', async () => {
    const id = await awaitingDecision();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => decide(id, { outcome: 'approve' }, ALICE, 'once')),
    );
    expect(answers.map((answer) => answer.statusCode)).toEqual([200, 200, 200, 200, 200, 200]);
    expect((await show(id)).timeline.filter((line) => line.kind === 'move' && line.to === 'THIRD')).toHaveLength(1);
    expect((await decide(id, { outcome: 'approve' }, ALICE, 'once')).statusCode).toBe(200);

    const other = await decide(id, { outcome: 'reject' }, ALICE, 'once');
    expect(other.json()).toMatchObject({ status: 409, code: 'idempotency_conflict' });
    const late = await decide(id, { outcome: 'approve' });
    expect(late.json()).toMatchObject({ status: 409, code: 'state_conflict', state: 'THIRD' });
  });

  it('with the same key by another caller is another decision', async () => {
    const [mine, theirs] = [await awaitingDecision(), await awaitingDecision()];
    expect((await decide(mine, { outcome: 'approve' }, ALICE, 'shared')).statusCode).toBe(200);
    expect((await decide(theirs, { outcome: 'approve' }, ADMIN, 'shared')).statusCode).toBe(200);
  });

  it("is an admin's right in the owner's place, and the trail says who it was", async () => {
    const id = await awaitingDecision();
    const item = (await decide(id, { outcome: 'approve' }, ADMIN)).json<ItemAnswer>();
    expect(item.timeline.at(-1)).toMatchObject({ actor: 'adam', actorType: 'admin' });
  });

  it('in a state that awaits a reviewer is a reviewer’s or an admin’s, not the owner’s', async () => {
    const [first, second] = [await itemOf('review', 'WAITING'), await itemOf('review', 'WAITING')];
    const owner = await decide(first, { outcome: 'accept' });
    expect(owner.json()).toMatchObject({ status: 403, code: 'not_allowed' });
    expect((await decide(first, { outcome: 'accept' }, REVIEWER)).json()).toMatchObject({ state: 'PUBLISHED' });
    expect((await decide(second, { outcome: 'refuse' }, ADMIN)).json()).toMatchObject({ state: 'REJECTED' });
  });

  it('is not a reviewer’s on their own item; an admin may make it, and the trail says so', async () => {
    const id = await itemOf('review', 'WAITING');
    const own = await decide(id, { outcome: 'accept' }, { sub: 'alice', roles: ['reviewer'] });
    expect(own.json()).toMatchObject({ status: 403, code: 'not_allowed' });
    expect(own.json<{ detail: string }>().detail).toContain('ask another reviewer');

    const item = (await decide(id, { outcome: 'accept' }, { sub: 'alice', roles: ['admin'] })).json<ItemAnswer>();
    expect(item.timeline.at(-1)).toMatchObject({ actorType: 'admin', metadata: { decidedOwnItem: true } });
  });

  it('with the same key and outcome and another reason is refused', async () => {
    const id = await awaitingDecision();
    expect((await decide(id, { outcome: 'approve', reason: 'fine' }, ALICE, 'why')).statusCode).toBe(200);
    expect((await decide(id, { outcome: 'approve', reason: 'fine' }, ALICE, 'why')).statusCode).toBe(200);
    const other = await decide(id, { outcome: 'approve', reason: 'great' }, ALICE, 'why');
    expect(other.json()).toMatchObject({ status: 409, code: 'idempotency_conflict' });
  });

  it('is made on the state that was seen: what the owner refuses too late is no verdict of a reviewer', async () => {
    const id = await itemOf('review', 'CONFIRMING');
    const barrier = await holdItem(api.database, id);
    onTestFinished(() => endWaiters(api.database));
    const confirmed = await barrier.start((pool) =>
      decideItem(pool, () => review, { itemId: id, actor: { id: 'alice', type: 'user' }, id, outcome: 'confirm' }),
    );
    const refused = await barrier.start(() => decide(id, { outcome: 'refuse' }), 'test api');
    await barrier.release();

    expect(await confirmed.result).toMatchObject({ state: 'WAITING' });
    expect((await refused.result).json()).toMatchObject({ status: 409, code: 'state_conflict', state: 'WAITING' });
    expect(await show(id)).toMatchObject({ state: 'WAITING', live: true });
  });
});

describe('cancelling', () => {
  function cancel(id: string, as: Who, payload?: object) {
    return api.call({ method: 'POST', url: `/api/v1/items/${id}/cancel`, as, ...(payload && { payload }) });
  }

  it('ends the item at once with its reason, shows no zombie, and asks the run to end', async () => {
    const { id } = await submit(api, ALICE);
    await claim(id, 'FIRST', 'first');

    const response = await cancel(id, ALICE, { reason: 'changed my mind' });

    const item = response.json<ItemAnswer>();
    expect(item).toMatchObject({
      state: 'FAILED',
      live: false,
      endReason: 'CANCELLED',
      inflight: [],
      inflightCount: 0,
    });
    expect(item.timeline.at(-1)).toMatchObject({ trigger: 'cancelled', metadata: { reason: 'changed my mind' } });
    expect(item.diagnosis.reason).toBe('finished');
    expect(api.engine.ended).toContainEqual(expect.objectContaining({ itemId: id, epoch: 1 }));
  });

  it('is an admin’s right too, and needs no engine', async () => {
    const { id } = await submit(api, BOB);
    api.engine.mood = 'away';
    expect((await cancel(id, ADMIN)).json()).toMatchObject({ state: 'FAILED', owner: 'bob' });
  });
});

describe('while Temporal is away', () => {
  it('reads are served and marked', async () => {
    const cutOff = await openApi();
    cutOff.engine.mood = 'away';
    const { id } = await submit(cutOff, ALICE);
    const item = (await cutOff.call({ url: `/api/v1/items/${id}`, as: ALICE })).json<ItemAnswer>();
    expect(item).toMatchObject({ state: 'FIRST', degraded: true });
    await cutOff.database.pool.query('UPDATE items SET started = true WHERE id = $1', [id]);
    const started = (await cutOff.call({ url: `/api/v1/items/${id}`, as: ALICE })).json<ItemAnswer>();
    expect(started.diagnosis.reason).toBe('engine_unreachable');
    await cutOff.close();
  });
});
