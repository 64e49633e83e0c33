import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { ItemAnswer } from '../../../src/api/items/item-schema.js';
import { ADMIN, ALICE, openApi, VIEWER, submit, type TestApi } from '../setup.js';
import { age, claim, commit, show } from '../walked.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi();
});
beforeEach(() => {
  api.engine.mood = 'well';
  api.engine.status = { is: 'alive', wedgedBy: null };
  api.engine.started.length = 0;
  api.engine.ended.length = 0;
  api.engine.terminated.length = 0;
  api.engine.woken.length = 0;
});
afterAll(() => api.close());

function act(id: string, action: string, payload: object = {}) {
  return api.call({ method: 'POST', url: `/api/v1/items/${id}/${action}`, as: ADMIN, payload });
}

/** A canary whose first stage is done and whose second fell silent an hour ago. */
async function silentInSecond(): Promise<string> {
  const { id } = await submit(api, ALICE);
  await commit(api, await claim(api, id, 'FIRST', 'first'), { is: 'done', outcome: 'done' });
  await claim(api, id, 'SECOND', 'second');
  await age(api, id);
  return id;
}

describe('a retry without a state', () => {
  it('goes on where the item stands: a new run of the same visit, the old one ended, and who asked for it and why', async () => {
    const id = await silentInSecond();
    api.engine.status = { is: 'gone', how: 'terminated' };

    const response = await act(id, 'retry', { reason: 'somebody ended it' });

    expect(response.statusCode).toBe(200);
    const item = response.json<ItemAnswer>();
    expect(item).toMatchObject({ state: 'SECOND', visit: 1, epoch: 2, parked: null, rescue: { count: 1 } });
    expect(item.rescue.lastRetryAt).not.toBeNull();
    expect(item.timeline.at(-1)).toMatchObject({
      ...{
        trigger: 'rescue',
        actor: 'adam',
        actorType: 'admin',
        metadata: { reason: 'somebody ended it', stopped: 'workflow_closed' },
      },
    });
    const run = { pipeline: 'canary', itemId: id, epoch: 2, step: { do: 'next' } };
    expect(api.engine.started.at(-1)).toEqual({ ...run, owner: 'alice', priority: 0 });
    expect(api.engine.ended).toEqual([{ pipeline: 'canary', itemId: id, epoch: 1 }]);
    expect(item.tasks).toContainEqual({ stage: 'first', status: 'done', count: 1 });
    expect(item.receipts).toMatchObject([
      {
        reason: 'workflow_closed',
        actor: 'adam',
        epoch: 2,
        stagesAgain: ['second'],
        result: 'waiting',
        movingAt: null,
      },
    ]);
  });

  it('is refused while its worker beats, with the diagnosis, and the engine is not even asked', async () => {
    const { id } = await submit(api, ALICE);
    await claim(api, id, 'FIRST', 'first');
    api.engine.mood = 'away';

    const response = await act(id, 'retry');

    expect(response.statusCode).toBe(409);
    expect(response.json()).toMatchObject({
      ...{ code: 'still_alive', state: 'FIRST', diagnosis: { reason: 'running', evidence: { worker: 'worker-1' } } },
    });
    expect(await show(api, id)).toMatchObject({ epoch: 1, version: 1 });
  });

  it('is refused while its run lives, whatever its worker does', async () => {
    const id = await silentInSecond();
    const response = await act(id, 'retry');
    expect(response.statusCode).toBe(409);
    expect(response.json()).toMatchObject({ code: 'still_alive', diagnosis: { reason: 'silent_worker' } });
  });

  it('is granted where the run lives but can do nothing', async () => {
    const id = await silentInSecond();
    api.engine.status = { is: 'alive', wedgedBy: 'TypeError: no activity second' };
    expect((await act(id, 'retry')).json()).toMatchObject({ epoch: 2, rescue: { count: 1 } });
  });

  it('is not decided while the engine does not answer and nobody else knows', async () => {
    const id = await silentInSecond();
    api.engine.mood = 'away';
    const response = await act(id, 'retry');
    expect(response.statusCode).toBe(503);
    expect(response.json()).toMatchObject({ code: 'engine_unavailable' });
    expect(response.headers['retry-after']).toBe('5');
    expect(await show(api, id)).toMatchObject({ epoch: 1 });
  });

  it.each([
    ['a run that said it ended', 'run_ended_at = now(), started = true'],
    ['a parked item', `parked_at = now(), parked_why = 'old', started = true`],
  ])('restarts %s without the engine: the dispatcher starts the run when the engine is back', async (_, change) => {
    const { id } = await submit(api, ALICE);
    await api.database.pool.query(`UPDATE items SET ${change} WHERE id = $1`, [id]);
    api.engine.mood = 'away';

    expect((await act(id, 'retry')).json()).toMatchObject({ epoch: 2, parked: null });

    const { rows } = await api.database.pool.query(
      `SELECT started, start_after < now() + interval '1 second' AS due FROM items WHERE id = $1`,
      [id],
    );
    expect(rows).toEqual([{ started: false, due: true }]);
  });

  it('asked twice in a row is one rescue, also when the first run was not started yet', async () => {
    const id = await silentInSecond();
    api.engine.status = { is: 'gone', how: 'terminated' };
    expect((await act(id, 'retry')).statusCode).toBe(200);
    api.engine.status = { is: 'gone', how: 'never_existed' };

    const again = await act(id, 'retry');

    expect(again.statusCode).toBe(409);
    expect(again.json()).toMatchObject({ code: 'still_alive', diagnosis: { reason: 'start_lost' } });
    expect(await show(api, id)).toMatchObject({ epoch: 2, rescue: { count: 1 } });
  });

  it('is accepted once when two come at the same time', async () => {
    const id = await silentInSecond();
    const { describe: usual } = api.engine;
    api.engine.describe = async ({ epoch }) =>
      epoch === 1 ? { is: 'gone', how: 'terminated' } : { is: 'alive', wedgedBy: null };
    const both = await Promise.all([act(id, 'retry'), act(id, 'retry')]);
    api.engine.describe = usual;
    expect(both.map((each) => each.statusCode).sort()).toEqual([200, 409]);
    expect(await show(api, id)).toMatchObject({ epoch: 2, rescue: { count: 1 } });
  });
});

describe('a retry from a state', () => {
  it('is refused while the item lives', async () => {
    const { id } = await submit(api, ALICE);
    await claim(api, id, 'FIRST', 'first');
    const response = await act(id, 'retry', { from: 'SECOND' });
    expect(response.statusCode).toBe(409);
    expect(response.json()).toMatchObject({ code: 'still_alive', diagnosis: { reason: 'running' } });
    expect(await show(api, id)).toMatchObject({ state: 'FIRST', visit: 1, epoch: 1 });
  });

  it('begins a new visit there', async () => {
    const id = await silentInSecond();
    api.engine.status = { is: 'gone', how: 'terminated' };
    const response = await act(id, 'retry', { from: 'SECOND', reason: 'skip it' });
    expect(response.json()).toMatchObject({ state: 'SECOND', visit: 2, epoch: 2, inflight: [], rescue: { count: 0 } });
    expect(api.engine.ended).toEqual([{ pipeline: 'canary', itemId: id, epoch: 1 }]);
  });

  it('opens an item that ended, there or where its table says', async () => {
    const [chosen, usual] = [(await submit(api, ALICE)).id, (await submit(api, ALICE)).id];
    for (const id of [chosen, usual]) await act(id, 'cancel');
    expect((await act(chosen, 'retry', { from: 'THIRD' })).json()).toMatchObject({ state: 'THIRD', live: true });
    expect((await act(usual, 'retry')).json()).toMatchObject({ state: 'FIRST', visit: 2, live: true, endReason: null });
  });

  it('does not open an item whose table keeps it closed', async () => {
    const { id } = await submit(api, ALICE);
    await api.database.pool.query(`UPDATE items SET state = 'DONE', ended_at = now() WHERE id = $1`, [id]);
    const response = await act(id, 'retry', { from: 'FIRST' });
    expect(response.statusCode).toBe(409);
    expect(response.json()).toMatchObject({ code: 'state_conflict', state: 'DONE' });
  });
});

describe('another priority', () => {
  it('gives an item that waits for a worker a new run at its new level, and ends the old run', async () => {
    const { id } = await submit(api, ALICE);
    expect(api.engine.started.at(-1)).toMatchObject({ itemId: id, epoch: 1, owner: 'alice', priority: 0 });

    const response = await act(id, 'reprioritize', { priority: 7, reason: 'urgent' });

    expect(response.json()).toMatchObject({ priority: 7, epoch: 2, rescue: { count: 0 }, receipts: [] });
    expect(api.engine.started.at(-1)).toMatchObject({ itemId: id, epoch: 2, owner: 'alice', priority: 7 });
    expect(api.engine.terminated).toMatchObject([{ itemId: id, epoch: 1 }]);
  });

  it('changes the row alone where Temporal knows no priorities', async () => {
    api.engine.isFair = false;
    onTestFinished(() => {
      api.engine.isFair = true;
    });
    const { id } = await submit(api, ALICE);
    expect((await act(id, 'reprioritize', { priority: 7 })).json()).toMatchObject({ priority: 7, epoch: 1 });
    expect(api.engine.terminated).toEqual([]);
  });

  it('gives a new run where Temporal does not answer', async () => {
    const { id } = await submit(api, ALICE);
    api.engine.mood = 'away';
    onTestFinished(() => {
      api.engine.mood = 'well';
    });
    expect((await act(id, 'reprioritize', { priority: 7 })).json()).toMatchObject({ priority: 7, epoch: 2 });
  });

  it('leaves a stage that runs alone', async () => {
    const { id } = await submit(api, ALICE);
    await claim(api, id, 'FIRST', 'first');
    expect((await act(id, 'reprioritize', { priority: -200 })).json()).toMatchObject({ priority: -200, epoch: 1 });
    expect(api.engine.terminated).toEqual([]);
  });

  it('is for admins alone', async () => {
    const { id } = await submit(api, ALICE);
    const url = `/api/v1/items/${id}/reprioritize`;
    for (const as of [ALICE, VIEWER]) {
      expect((await api.call({ method: 'POST', url, as, payload: { priority: 7 } })).statusCode).toBe(403);
    }
    expect((await act(id, 'reprioritize', { priority: 1_001 })).statusCode).toBe(400);
  });
});

describe('a pause', () => {
  it.each([
    ['for a while', { for: '2h' }, expect.stringMatching(/^\d{4}-/) as unknown],
    ['until a time', { until: '2999-01-01T00:00:00Z' }, '2999-01-01T00:00:00.000Z'],
    ['without an end', {}, null],
  ])('%s holds the item and says why; a resume ends it at once', async (_, span, until) => {
    const { id } = await submit(api, ALICE);

    const paused = (await act(id, 'pause', { ...span, reason: 'a look at it' })).json<ItemAnswer>();

    expect(paused).toMatchObject({ paused: { until, reason: 'a look at it' }, diagnosis: { reason: 'paused' } });
    expect(paused.timeline.at(-1)).toMatchObject({
      trigger: 'paused',
      actor: 'adam',
      metadata: { reason: 'a look at it' },
    });
    await expect(claim(api, id, 'FIRST', 'first')).rejects.toThrow('claim answered hold');

    const resumed = (await act(id, 'resume', { reason: 'looked' })).json<ItemAnswer>();
    expect(resumed).toMatchObject({ paused: null });
    expect(resumed.timeline.at(-1)).toMatchObject({ trigger: 'resumed', metadata: { reason: 'looked' } });
    expect(api.engine.woken.map((run) => run.itemId)).toEqual([id, id]);
    await claim(api, id, 'FIRST', 'first');
  });

  it('moves the row while the engine is away; the dispatcher tells the run later', async () => {
    const { id } = await submit(api, ALICE);
    api.engine.mood = 'away';
    expect((await act(id, 'pause', { reason: 'storm' })).json()).toMatchObject({ paused: { reason: 'storm' } });
    const { rows } = await api.database.pool.query('SELECT wake_after FROM items WHERE id = $1', [id]);
    expect(rows).toEqual([{ wake_after: expect.any(Date) as Date }]);
  });
});

describe('what Temporal says of an item', () => {
  it('is asked for only where the item gives no sign of life', async () => {
    const { id } = await submit(api, ALICE);
    await claim(api, id, 'FIRST', 'first');
    api.engine.status = { is: 'gone', how: 'terminated' };
    api.engine.queueStatus = { pollers: [{ identity: 'w', seenAt: new Date() }], backlog: 0, oldestMs: null };
    expect(await show(api, id)).toMatchObject({ diagnosis: { reason: 'running' }, staleness: null });
    await age(api, id);
    expect(await show(api, id)).toMatchObject({
      diagnosis: { reason: 'workflow_closed' },
      staleness: { stale: true, stage: 'first', diagnosis: { reason: 'workflow_closed' } },
    });
  });

  it('names a sweep that somebody has paused', async () => {
    const { id } = await submit(api, ALICE);
    await claim(api, id, 'FIRST', 'first');
    await age(api, id);
    api.engine.status = { is: 'gone', how: 'terminated' };
    api.engine.queueStatus = { pollers: [{ identity: 'w', seenAt: new Date() }], backlog: 0, oldestMs: null };
    const status = api.schedules.status;
    onTestFinished(() => {
      api.schedules.status = status;
    });
    expect((await show(api, id)).diagnosis).toMatchObject({ nextAction: 'The next sweep rescues it.' });

    api.schedules.status = status && { ...status, paused: { why: 'ada: too loud' } };

    expect((await show(api, id)).diagnosis).toMatchObject({
      reason: 'workflow_closed',
      nextAction: expect.stringContaining('sweep-canary is paused (ada: too loud): a person must resume it') as string,
    });
  });

  it('names the missing worker, and a run that fails again and again', async () => {
    const { id } = await submit(api, ALICE);
    await commit(api, await claim(api, id, 'FIRST', 'first'), { is: 'done', outcome: 'done' });
    await age(api, id);
    api.engine.queueStatus = { pollers: [], backlog: 0, oldestMs: null };
    expect((await show(api, id)).diagnosis).toMatchObject({ reason: 'no_worker', evidence: { pollers: 0 } });
    api.engine.queueStatus = { pollers: [{ identity: 'w', seenAt: new Date() }], backlog: 3, oldestMs: 10 };
    expect((await show(api, id)).diagnosis).toMatchObject({ reason: 'backlog', evidence: { engine: 'alive' } });
    api.engine.status = { is: 'alive', wedgedBy: 'TypeError: boom' };
    expect((await show(api, id)).diagnosis).toMatchObject({
      reason: 'wedged',
      evidence: { failure: 'TypeError: boom' },
    });
  });

  it('is said to be unknown when it does not answer, and nobody waits long for it', async () => {
    const { id } = await submit(api, ALICE);
    await commit(api, await claim(api, id, 'FIRST', 'first'), { is: 'done', outcome: 'done' });
    await age(api, id);
    // Health was asked a moment ago and is believed for some seconds.
    await show(api, id);
    api.engine.mood = 'silent';
    expect((await show(api, id)).diagnosis.reason).toBe('engine_unreachable');
  });
});
