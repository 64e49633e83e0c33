import { describe, expect, it } from 'vitest';
import { definePipeline, type Pipeline, stage } from '../../../src/core/pipeline.js';
import { ADMISSION_RETRY_MS } from '../../../src/core/step.js';
import { cancelItem } from '../../../src/db/spine/control.js';
import { auditOf, effectsOf, itemOf, taskOf, trailFaults } from '../../support/facts.js';
import { byHand, findIn, ROOT, useSpine } from '../../support/spine.js';

const spine = useSpine();

const LIMIT = 10;

/** Two states that admit ten: one is entered by a claim out of a rest, the other by a stage's outcome. */
function narrowed(name: string): Pipeline {
  const spent = { move: 'FAILED' } as const;
  return definePipeline({
    name,
    start: 'WAITING',
    sweep: { every: '10s', staleAfter: '5s', stuckAfter: '15s' },
    rescue: { budget: 3, backoff: ['2s'], budgetResetAfter: '24h', oldestRescued: '7d', exhausted: 'FAILED' },
    cancelled: 'FAILED',
    states: {
      WAITING: { rests: 'backlog', then: { claimed: 'HEATING' } },
      HEATING: { does: stage('heat', { tries: 3, within: '10s', spent }), then: { done: 'COOLING' }, admits: LIMIT },
      COOLING: { does: stage('cool', { tries: 3, within: '10s', spent }), then: { done: 'DONE' }, admits: LIMIT },
      DONE: { ends: 'done' },
      FAILED: { ends: 'failed' },
    },
  });
}

async function countIn(pipeline: Pipeline, state: string): Promise<number> {
  const { rows } = await spine.pool.query('SELECT 1 FROM items WHERE pipeline = $1 AND state = $2', [
    pipeline.name,
    state,
  ]);
  return rows.length;
}

describe('a state that admits ten', () => {
  it('lets ten of twenty claims in that come at once, and the others when there is room', async () => {
    const pipeline = narrowed('by-claim');
    const hand = byHand(spine.limited, pipeline);
    const ids = await Promise.all(Array.from({ length: 20 }, () => hand.make()));

    const answers = await Promise.all(ids.map((id, n) => hand.claim(id, { worker: `w${n}` })));

    expect(answers.filter((each) => each.is === 'run')).toHaveLength(LIMIT);
    const held = answers.filter((each) => each.is === 'hold');
    expect(held).toEqual(Array(LIMIT).fill({ is: 'hold', forMs: ADMISSION_RETRY_MS, reason: 'backlog' }));
    expect(await countIn(pipeline, 'HEATING')).toBe(LIMIT);

    const inside = answers.flatMap((each) => (each.is === 'run' ? [each.claimed] : []));
    await Promise.all(
      inside
        .slice(0, 3)
        .map((attempt) => cancelItem(spine.limited, findIn(pipeline), { itemId: attempt.itemId, actor: ROOT })),
    );
    const late = ids.filter((id) => !inside.some((attempt) => attempt.itemId === id));
    const again = await Promise.all(late.map((id) => hand.claim(id)));

    expect(again.filter((each) => each.is === 'run')).toHaveLength(3);
    expect(await countIn(pipeline, 'HEATING')).toBe(LIMIT);
    for (const id of ids) expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it('lets ten of twenty outcomes in that come at once; the others keep theirs and get in later', async () => {
    const pipeline = narrowed('by-outcome');
    const hand = byHand(spine.limited, pipeline);
    const ids = await Promise.all(Array.from({ length: 20 }, () => hand.make()));
    // Twenty in a state of ten: only the next door is tried here.
    await spine.pool.query(`UPDATE items SET state = 'HEATING' WHERE pipeline = $1`, [pipeline.name]);
    const attempts = await Promise.all(ids.map((id) => hand.claimed(id)));

    const committed = await Promise.all(attempts.map((attempt) => hand.finish(attempt)));

    const steps = committed.map((each) => (each === 'superseded' ? each : each.do));
    expect(steps.filter((each) => each === 'stage')).toHaveLength(LIMIT);
    expect(steps.filter((each) => each === 'wait')).toHaveLength(LIMIT);
    expect(await countIn(pipeline, 'COOLING')).toBe(LIMIT);

    const waiting = ids.filter((_, n) => steps[n] === 'wait');
    const [one = ''] = waiting;
    expect(await itemOf(spine.pool, one)).toMatchObject({ state: 'HEATING' });
    expect(await taskOf(spine.pool, one, 'heat')).toMatchObject({ status: 'done' });
    expect(await hand.next(one)).toEqual({
      do: 'wait',
      state: 'HEATING',
      forMs: ADMISSION_RETRY_MS,
      reason: 'backlog',
    });

    const inside = ids.filter((_, n) => steps[n] === 'stage');
    for (const id of inside.slice(0, 4)) await hand.walk(id, 'cool');
    const asked = await Promise.all(waiting.map((id) => hand.next(id)));

    expect(asked.filter((each) => each.do === 'stage')).toHaveLength(4);
    expect(await countIn(pipeline, 'COOLING')).toBe(LIMIT);
    for (const id of ids) {
      expect((await effectsOf(spine.pool, id)).filter((each) => each === '1 heat')).toHaveLength(1);
    }
  });

  it('is never fuller than that while items stream through both doors', async () => {
    const pipeline = narrowed('stream');
    const hand = byHand(spine.limited, pipeline);
    const ids = await Promise.all(Array.from({ length: 30 }, () => hand.make()));
    const seen: number[] = [];

    async function drive(id: string): Promise<void> {
      for (let step = await hand.next(id); step.do !== 'end'; step = await hand.next(id)) {
        if (step.do !== 'stage') continue;
        const claim = await hand.claim(id, { state: step.state, stage: step.stage });
        if (claim.is !== 'run') continue;
        seen.push(Math.max(await countIn(pipeline, 'HEATING'), await countIn(pipeline, 'COOLING')));
        await hand.finish(claim.claimed);
      }
    }
    // A few more than there are places: somebody is always at the door, and not everybody.
    const waiting = [...ids];
    async function lane(): Promise<void> {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) await drive(id);
    }
    await Promise.all(Array.from({ length: LIMIT + 3 }, lane));

    expect(Math.max(...seen)).toBeLessThanOrEqual(LIMIT);
    expect(await countIn(pipeline, 'DONE')).toBe(30);
    for (const id of ids)
      expect((await auditOf(spine.pool, id)).map((each) => each.to)).toEqual(['WAITING', 'HEATING', 'COOLING', 'DONE']);
  });
});
