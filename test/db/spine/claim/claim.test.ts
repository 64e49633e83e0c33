import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Attempt, Claimed } from '../../../../src/db/spine/attempt.js';
import { beatTask } from '../../../../src/db/spine/beat.js';
import { claimTask } from '../../../../src/db/spine/claim/claim.js';
import { cancelItem, pauseItem, rescueItem, retryItem } from '../../../../src/db/spine/control.js';
import { FOR_EVER_MS } from '../../../../src/db/spine/item-row.js';
import { nextStep } from '../../../../src/db/spine/next-step.js';
import { attemptsOf, auditOf, itemOf, taskOf, trailFaults } from '../../../support/facts.js';
import { byHand, findIn, FAILURE, ROOT, useSpine } from '../../../support/spine.js';
import { resting, reviewed, several, spreadAll, straight } from '../../../support/tables.js';

const spine = useSpine();

const find = findIn(straight, several, resting, reviewed, spreadAll);

describe('a claim is answered run', () => {
  it('with a fence, the owner and no checkpoint when the task is new', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();

    const first = await hand.claimed(id);

    expect(first).toMatchObject({ fence: 1, attempt: 1, errors: 0, checkpoint: null, owner: 'ada' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ started: true, wakeAfter: null, version: 1 });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'running', crashes: 0 });
  });

  it('with a higher fence and the errors so far after an error', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.commit(await hand.claimed(id), { is: 'error', error: FAILURE, retryInMs: 10 });

    expect(await hand.claimed(id)).toMatchObject({ fence: 2, attempt: 2, errors: 1 });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 0 });
  });

  it('with the same fence when the answer was lost and it is asked again, and that is no crash', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.attempt(id);
    const first = await claimTask(spine.pool, straight, attempt);

    expect(await claimTask(spine.pool, straight, attempt)).toEqual(first);
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ fence: 1, attempt: 1, crashes: 0 });
    expect(await attemptsOf(spine.pool, id)).toEqual([]);
  });

  it('with the same fence also when the item was paused since, or the next claim would count a crash', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.attempt(id);
    const first = await claimTask(spine.pool, straight, attempt);
    await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: 'infinity' });

    expect(await claimTask(spine.pool, straight, attempt)).toEqual(first);
  });

  it('after a claim that was never answered, under whose id the next attempt asks: that is no crash', async () => {
    const hand = byHand(spine.pool, straight);
    const { unanswered, next } = await leaveUnanswered(hand);

    const taken = await claimTask(spine.pool, straight, next);

    expect(taken).toMatchObject({ is: 'run', claimed: { fence: 3, attempt: 1 } });
    expect(await claimTask(spine.pool, straight, next)).toEqual(taken);
    expect(await hand.finish(unanswered)).toBe('superseded');
    const { itemId } = next;
    const { rows } = await spine.pool.query('SELECT worker, token, scheduled_at FROM tasks WHERE item_id = $1', [
      itemId,
    ]);
    expect(rows).toEqual([{ worker: 'worker-b', token: next.token, scheduled_at: next.scheduledAt }]);
    expect(await taskOf(spine.pool, itemId, 'read')).toMatchObject({ status: 'running', crashes: 0 });
    expect(await attemptsOf(spine.pool, itemId)).toEqual([]);
    // The death of the worker that holds the task now does count, for a claim under another id.
    expect(await hand.claimed(itemId, { worker: 'worker-c' })).toMatchObject({ fence: 5, attempt: 2 });
    expect(await attemptsOf(spine.pool, itemId)).toEqual(['read crash']);
  });

  it('after a crash: the attempt before is recorded, and its fence is void', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const lost = await hand.claimed(id, { worker: 'worker-a' });

    const next = await hand.claimed(id, { worker: 'worker-b' });

    expect(next.fence).toBeGreaterThan(lost.fence);
    expect(next).toMatchObject({ attempt: 2, errors: 0 });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'running', crashes: 1, ownDeaths: 0 });
    expect(await attemptsOf(spine.pool, id)).toEqual(['read crash']);
    const { rows } = await spine.pool.query('SELECT error_class FROM attempts WHERE item_id = $1', [id]);
    expect(rows).toEqual([{ error_class: 'WORKER_CRASH' }]);
    expect(await beatTask(spine.pool, lost, null)).toBe(false);
    expect(await hand.finish(lost)).toBe('superseded');
  });

  it('when it moves an item out of a state that rests until a claim', async () => {
    const hand = byHand(spine.pool, resting);
    const id = await hand.make();
    await spine.pool.query(`UPDATE items SET state = 'queued' WHERE id = $1`, [id]);

    expect(await hand.claimed(id)).toMatchObject({ state: 'converting', fence: 1 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'converting', started: true, version: 2 });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({
      from: 'queued',
      to: 'converting',
      trigger: 'convert-claimed',
    });
    expect(await hand.finish(await hand.claimed(id))).toMatchObject({ do: 'stage', stage: 'store' });
  });
});

describe('a claim is answered done', () => {
  it('when the task is done and the row has moved on: follow the row', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read');

    const answer = await hand.claim(id, { state: 'READING', stage: 'read' });

    expect(answer).toMatchObject({ is: 'done', step: { do: 'stage', state: 'CHECKING', stage: 'check' } });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ fence: 1, attempt: 1 });
  });

  it('when the task is done and the state goes on with its next stage', async () => {
    const hand = byHand(spine.pool, several);
    const id = await hand.make();
    await hand.walk(id, 'extract');

    expect(await hand.claim(id, { stage: 'extract' })).toMatchObject({
      is: 'done',
      step: { do: 'stage', stage: 'enrich' },
    });
  });

  it('when the tries of a stage that may be skipped are spent', async () => {
    const hand = byHand(spine.pool, several);
    const id = await hand.make();
    await hand.walk(id, 'extract');
    await hand.commit(await hand.claimed(id, { stage: 'enrich' }), { is: 'spent', error: FAILURE });

    expect(await hand.claim(id, { stage: 'enrich' })).toMatchObject({ is: 'done', step: { stage: 'judge' } });
  });

  it('when the row awaits a decision', async () => {
    const hand = byHand(spine.pool, reviewed);
    const id = await hand.make();
    await hand.walk(id, 'judge:concerns');

    expect(await hand.claim(id, { state: 'JUDGING', stage: 'judge' })).toEqual({
      is: 'done',
      step: { do: 'wait', state: 'NEEDS_REVIEW', forMs: null, reason: 'awaiting_decision' },
    });
  });

  it('when the table no longer has that stage in that state', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();

    expect(await hand.claim(id, { stage: 'forgotten' })).toMatchObject({
      is: 'done',
      step: { do: 'stage', stage: 'read' },
    });
    expect(await hand.claim(id, { stage: 'check' })).toMatchObject({
      is: 'done',
      step: { do: 'stage', stage: 'read' },
    });
  });

  it('when the table no longer has that state at all', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();

    expect(await hand.claim(id, { state: 'FORGOTTEN', stage: 'read' })).toMatchObject({
      is: 'done',
      step: { do: 'stage', state: 'READING', stage: 'read' },
    });
  });

  it('when a stage before it has not ended', async () => {
    const hand = byHand(spine.pool, several);
    const id = await hand.make();
    await hand.walk(id, 'extract');

    expect(await hand.claim(id, { stage: 'judge' })).toMatchObject({
      is: 'done',
      step: { do: 'stage', stage: 'enrich' },
    });
  });
});

describe('a claim is answered superseded', () => {
  it('when the item has ended', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.attempt(id);
    await cancelItem(spine.pool, find, { itemId: id, actor: ROOT });

    expect(await claimTask(spine.pool, straight, attempt)).toEqual({ is: 'superseded' });
  });

  it.each(['rescue', 'retry'] as const)('when a %s has begun a later run', async (how) => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.attempt(id);
    if (how === 'rescue') await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    else await retryItem(spine.pool, find, { itemId: id, actor: ROOT, from: 'READING' });

    expect(await claimTask(spine.pool, straight, attempt)).toEqual({ is: 'superseded' });
    expect(await itemOf(spine.pool, id)).toMatchObject({ started: false });
  });

  it('when the item was deleted, as the audit knows', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.attempt(id);
    await spine.pool.query('DELETE FROM items WHERE id = $1', [id]);

    expect(await claimTask(spine.pool, straight, attempt)).toEqual({ is: 'superseded' });
  });
});

it('a claim fails when the database never had the item, because another database has it', async () => {
  const hand = byHand(spine.pool, straight);
  const attempt = await hand.attempt(await hand.make());
  const elsewhere = { ...attempt, itemId: randomUUID() };

  await expect(claimTask(spine.pool, straight, elsewhere)).rejects.toMatchObject({ code: 'item_unknown' });
  await expect(nextStep(spine.pool, straight, elsewhere)).rejects.toMatchObject({ code: 'item_unknown' });
});

describe('a claim is answered hold', () => {
  it('while the item is paused, for as long as that lasts, and the run counts as started and told', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: await inAnHour() });

    const answer = await hand.claim(id);

    expect(answer).toMatchObject({ is: 'hold', reason: 'paused' });
    expectAnHour(answer);
    expect(await itemOf(spine.pool, id)).toMatchObject({ started: true, wakeAfter: null });
    expect(await attemptsOf(spine.pool, id)).toEqual([]);
  });

  it('while it is paused without an end', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: 'infinity' });

    expect(await hand.claim(id)).toEqual({ is: 'hold', reason: 'paused', forMs: FOR_EVER_MS });
  });

  it('while the whole pipeline is paused', async () => {
    const hand = byHand(spine.pool, { ...straight, name: 'paused' });
    const id = await hand.make();
    await holdPipeline('paused', `now() + interval '10 minutes'`);

    const answer = await hand.claim(id);

    expect(answer).toMatchObject({ is: 'hold', reason: 'paused' });
    expect(answer).toHaveProperty(
      'forMs',
      expect.toSatisfy((ms: number) => ms > 590_000 && ms <= 600_000),
    );
    await spine.pool.query(`UPDATE holds SET until = now() - interval '1 second' WHERE pipeline = 'paused'`);
    expect(await hand.claim(id)).toMatchObject({ is: 'run' });
  });

  it('for an hour at most while a pipeline is held without an end', async () => {
    const hand = byHand(spine.pool, { ...straight, name: 'held for ever' });
    const id = await hand.make();
    await holdPipeline('held for ever', `'infinity'`);

    const answer = await hand.claim(id);
    expect(answer).toMatchObject({ is: 'hold', reason: 'paused' });
    expect(answer).toHaveProperty(
      'forMs',
      expect.toSatisfy((ms: number) => ms > 3_000_000 && ms <= 3_600_000),
    );
  });

  it('after a claim that was never answered, if the item was paused since: nobody has begun', async () => {
    const hand = byHand(spine.pool, straight);
    const { next } = await leaveUnanswered(hand);
    await pauseItem(spine.pool, find, { itemId: next.itemId, actor: ROOT, until: 'infinity' });

    expect(await claimTask(spine.pool, straight, next)).toMatchObject({ is: 'hold', reason: 'paused' });
    expect(await taskOf(spine.pool, next.itemId, 'read')).toMatchObject({ status: 'waiting', attempt: 0, crashes: 0 });
  });

  it('again and again until the pause is over', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: 'infinity' });
    expect(await hand.claim(id)).toMatchObject({ is: 'hold' });
    await spine.pool.query(`UPDATE items SET paused_until = now() - interval '1 ms' WHERE id = $1`, [id]);

    expect(await hand.claim(id)).toMatchObject({ is: 'run', claimed: { fence: 1 } });
  });
});

describe('an outdated attempt, which a frozen worker wakes with', () => {
  const EARLIER = new Date('2026-01-01T00:00:00Z');
  const LATER = new Date('2026-01-01T00:00:01Z');

  it('does not take the task from the attempt that runs by now, and counts no crash', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const healthy = await hand.claimed(id, { worker: 'worker-b', scheduledAt: LATER });

    expect(await hand.claim(id, { scheduledAt: EARLIER })).toMatchObject({ is: 'hold', reason: 'outdated' });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ crashes: 0, fence: healthy.fence });
  });

  it('does not take a task that waits for its next try either', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const failed = await hand.claimed(id, { scheduledAt: LATER });
    await hand.commit(failed, { is: 'error', error: FAILURE, retryInMs: 10 });

    expect(await hand.claim(id, { scheduledAt: EARLIER })).toMatchObject({ is: 'hold', reason: 'outdated' });
    expect(await hand.claim(id, { scheduledAt: LATER })).toMatchObject({ is: 'run' });
  });

  it('is an ordinary one after a rescue: should the clock have been set back, that drives the item on', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.claimed(id, { scheduledAt: LATER });
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });

    expect(await hand.claim(id, { scheduledAt: EARLIER })).toMatchObject({ is: 'run' });
  });
});

describe('a claim that was asked for twice, and comes late', () => {
  it('does not take the task that its attempt has ended in between', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    await hand.commit(attempt, { is: 'error', error: FAILURE, retryInMs: 10 });

    expect(await claimTask(spine.pool, straight, attempt)).toMatchObject({ is: 'hold', reason: 'outdated' });
    expect(await taskOf(spine.pool, id, 'read')).toMatchObject({ status: 'waiting', fence: 1, errors: 1 });
  });
});

describe('claims of units', () => {
  it('run in parallel with beats and with each other, and a cancel gets through between them', async () => {
    const hand = byHand(spine.limited, spreadAll);
    const id = await hand.make();
    const units = Array.from({ length: 60 }, (_, n) => `u${n}`);
    await hand.finish(await hand.claimed(id, { stage: 'prepare' }), 'done', units);
    const { epoch, visit } = await itemOf(spine.pool, id);

    let finished = 0;
    const waiting = [...units];
    async function lane(worker: string): Promise<void> {
      for (let unit = waiting.shift(); unit !== undefined; unit = waiting.shift()) {
        const where = { stage: 'upload', state: 'PROCESSING', unit, worker, epoch, visit };
        const answer = await hand.claim(id, where);
        if (answer.is !== 'run') return;
        await beatTask(spine.limited, answer.claimed, { unit });
        if ((await hand.finish(answer.claimed)) === 'superseded') return;
        finished += 1;
        if (finished === 30) await cancelItem(spine.limited, find, { itemId: id, actor: ROOT });
      }
    }
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(lane));

    expect(finished).toBeGreaterThanOrEqual(30);
    expect(finished).toBeLessThan(60);
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'FAILED', endReason: 'CANCELLED' });
    expect(await trailFaults(spine.pool, id)).toEqual([]);
    expect(await effects(id)).toBe(finished);
  });

  it('do not wait for each other', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id, { stage: 'prepare' }), 'done', ['a', 'b']);
    const client = await spine.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM items WHERE id = $1 FOR SHARE', [id]);
      expect(await byHand(spine.limited, spreadAll).claimed(id, { stage: 'upload', unit: 'b' })).toMatchObject({
        fence: 1,
      });
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
});

async function effects(id: string): Promise<number> {
  const { rows } = await spine.pool.query('SELECT 1 FROM canary_effects WHERE item_id = $1 AND unit <> $2', [id, '']);
  return rows.length;
}

async function inAnHour(): Promise<Date> {
  const { rows } = await spine.pool.query<{ at: Date }>(`SELECT now() + interval '1 hour' AS at`);
  return rows[0]?.at ?? new Date(0);
}

function expectAnHour(answer: object): void {
  expect(answer).toHaveProperty(
    'forMs',
    expect.toSatisfy((ms: number) => ms > 3_570_000 && ms <= 3_600_000),
  );
}

async function holdPipeline(pipeline: string, until: string): Promise<void> {
  await spine.pool.query(
    `INSERT INTO holds (pipeline, kind, until, reason, set_by) VALUES ($1, 'pause', ${until}, 'because', 'root')`,
    [pipeline],
  );
}

/** A claim that was granted to an attempt which gave up asking, and the next attempt, on another worker. */
async function leaveUnanswered(hand: ReturnType<typeof byHand>): Promise<{ unanswered: Claimed; next: Attempt }> {
  const id = await hand.make();
  const times = [new Date('2026-01-01T00:00:00.000Z'), new Date('2026-01-01T00:00:03.000Z')] as const;
  const unanswered = await hand.claimed(id, { worker: 'worker-a', scheduledAt: times[0] });
  const next = await hand.attempt(id, { worker: 'worker-b', scheduledAt: times[1], claimId: unanswered.claimId });
  return { unanswered, next };
}
