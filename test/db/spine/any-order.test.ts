import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/core/errors.js';
import {
  fanOutFedBy,
  isAwaits,
  isEnd,
  isLegalMove,
  retryStates,
  rowOf,
  stagesIn,
  stateNamesOf,
  type Via,
} from '../../../src/core/machine.js';
import type { Pipeline } from '../../../src/core/pipeline.js';
import type { Claimed } from '../../../src/db/spine/attempt.js';
import { beatTask } from '../../../src/db/spine/beat.js';
import { claimTask } from '../../../src/db/spine/claim/claim.js';
import { cancelItem, pauseItem, rescueItem, resumeItem, retryItem } from '../../../src/db/spine/control.js';
import { decideItem } from '../../../src/db/spine/decide-item.js';
import { rereadAttempt } from '../../../src/db/spine/reread.js';
import { canary } from '../../../src/domains/canary/table.js';
import { auditOf, itemOf, trailFaults } from '../../support/facts.js';
import { byHand, FAILURE, findIn, ROOT, useSpine } from '../../support/spine.js';
import { several, spreadAny } from '../../support/tables.js';

/** One item, three workers that claim, commit, fail, freeze and wake up, and people who cancel, rescue, retry and decide,
 *  in any order and at once. Whatever happens, the promises of the spine hold. */

const spine = useSpine();

/** How often each is done. Mostly work, or nothing would ever be finished that could be doubled. */
const WEIGHTS = {
  work: 12,
  claim: 4,
  'claim twice': 1,
  finish: 4,
  'finish an old one': 3,
  fail: 2,
  spend: 1,
  release: 1,
  beat: 1,
  reread: 1,
  decide: 3,
  cancel: 1,
  rescue: 1,
  retry: 1,
  reopen: 2,
  pause: 1,
  resume: 3,
} as const;
type Deed = keyof typeof WEIGHTS;

interface Command {
  act: Deed;
  worker: number;
  /** Chooses among the attempts, outcomes, units or states there are. */
  pick: number;
}

const command = fc.record<Command>({
  act: fc.oneof(...Object.entries(WEIGHTS).map(([act, weight]) => ({ arbitrary: fc.constant(act as Deed), weight }))),
  worker: fc.nat({ max: 2 }),
  pick: fc.nat({ max: 1_000 }),
});
/** The commands of a batch run at once. */
const story = fc.array(fc.array(command, { minLength: 1, maxLength: 4 }), { minLength: 15, maxLength: 25 });

const VIAS: Via[] = ['outcome', 'spent', 'cancel', 'exhaustion', 'rescue', 'reopen', 'retry', 'pause', 'resume'];
const UNITS = ['u1', 'u2', 'u3'];

function chosen<T>(from: readonly T[], pick: number): T | undefined {
  return from.length === 0 ? undefined : from[pick % from.length];
}

function play(pipeline: Pipeline, id: string) {
  const hand = byHand(spine.limited, pipeline);
  const find = findIn(pipeline);
  const ask = { itemId: id, actor: ROOT };
  /** Every attempt there was, by worker, because a frozen attempt may wake up at any time. */
  const held: Claimed[][] = [[], [], []];
  let latest: Claimed | undefined;
  let finished = 0;

  async function claim({ worker, pick }: Command, times: number): Promise<void> {
    const step = await hand.next(id);
    if (step.do !== 'stage' && step.do !== 'units') return;
    const unit = step.do === 'units' ? (chosen(step.units, pick) ?? '') : '';
    const { state, stage, visit } = step;
    const attempt = await hand.attempt(id, {
      state,
      stage,
      visit,
      unit,
      worker: `w${worker}`,
      claimId: randomUUID(),
    });
    for (let n = 0; n < times; n += 1) {
      const answer = await claimTask(spine.limited, pipeline, attempt);
      if (answer.is !== 'run') continue;
      held[worker]?.push(answer.claimed);
      latest = answer.claimed;
    }
  }

  async function finish(attempt: Claimed, pick: number): Promise<void> {
    const { state, stage, unit } = attempt;
    const row = rowOf(pipeline, state);
    const isLast = stagesIn(row).at(-1)?.stage === stage && unit === '';
    const outcome = (isLast && 'then' in row ? chosen(Object.keys(row.then), pick) : 'done') ?? 'done';
    const feeds = unit === '' && fanOutFedBy(pipeline, { state, stage, outcome }) !== undefined;
    const committed = await hand.finish(attempt, outcome, feeds ? UNITS.slice(0, 1 + (pick % 3)) : undefined);
    if (committed !== 'superseded') finished += 1;
  }

  async function decide(pick: number): Promise<void> {
    const row = rowOf(pipeline, (await itemOf(spine.limited, id)).state);
    const outcome = isAwaits(row) ? chosen(Object.keys(row.then), pick) : 'approve';
    await decideItem(spine.limited, find, { ...ask, id: `${id}-${String(pick % 5)}`, outcome: outcome ?? '' });
  }

  async function act(next: Command): Promise<unknown> {
    const attempt = next.act === 'finish an old one' ? chosen(held[next.worker] ?? [], next.pick) : latest;
    const pool = spine.limited;
    switch (next.act) {
      case 'work':
        await claim(next, 1);
        return latest && finish(latest, next.pick);
      case 'claim':
        return claim(next, 1);
      case 'claim twice':
        return claim(next, 2);
      case 'finish':
      case 'finish an old one':
        return attempt && finish(attempt, next.pick);
      case 'fail':
        return attempt && hand.commit(attempt, { is: 'error', error: FAILURE, retryInMs: 0 });
      case 'spend':
        return attempt && hand.commit(attempt, { is: 'spent', error: FAILURE });
      case 'release':
        return attempt && hand.commit(attempt, { is: 'released', why: 'shutdown' });
      case 'beat':
        return attempt && beatTask(pool, attempt, { at: next.pick });
      case 'reread':
        return attempt && rereadAttempt(pool, attempt);
      case 'decide':
        return decide(next.pick);
      case 'cancel':
        return cancelItem(pool, find, ask);
      case 'rescue':
        return rescueItem(pool, find, ask);
      case 'retry':
        return retryItem(pool, find, { ...ask, from: chosen(retryStates(pipeline), next.pick) ?? '' });
      case 'reopen':
        return retryItem(pool, find, ask);
      case 'pause':
        return pauseItem(pool, find, { ...ask, until: 'infinity' });
      case 'resume':
        return resumeItem(pool, find, ask);
    }
  }

  /** A person may be told no; nothing else may fail. */
  async function perform(next: Command): Promise<void> {
    try {
      await act(next);
    } catch (error) {
      const isNo = error instanceof AppError && ['conflict', 'invalid'].includes(error.kind);
      if (!isNo) throw error;
    }
  }

  return { perform, finished: () => finished };
}

interface Broken {
  what: string;
}

/** The conditions that hold for an item at any time, in one query. Each condition that is broken is a row of the answer. */
async function brokenPromises(pipeline: Pipeline, id: string): Promise<string[]> {
  const { rows } = await spine.pool.query<Broken>(
    `SELECT 'two effects of ' || concat_ws(' ', visit, stage, unit) AS what FROM canary_effects WHERE item_id = $1
       GROUP BY visit, stage, unit HAVING count(*) > 1
     UNION ALL
     SELECT 'an effect whose task is not done by it: ' || concat_ws(' ', e.visit, e.stage, e.unit, t.status)
       FROM canary_effects e JOIN tasks t USING (item_id, visit, stage, unit)
       WHERE e.item_id = $1 AND NOT (t.status = 'done' AND t.fence = e.attempt)
     UNION ALL
     SELECT 'done without its effect: ' || concat_ws(' ', t.visit, t.stage, t.unit)
       FROM tasks t LEFT JOIN canary_effects e USING (item_id, visit, stage, unit)
       WHERE t.item_id = $1 AND t.status = 'done' AND e.item_id IS NULL
     UNION ALL
     SELECT 'running in an item that does not run it: ' || concat_ws(' ', t.visit, t.stage, t.unit, i.state)
       FROM tasks t JOIN items i ON i.id = t.item_id
       WHERE i.id = $1 AND t.status = 'running' AND (i.ended_at IS NOT NULL OR t.visit <> i.visit)
     UNION ALL
     SELECT 'tries that were lost count of: ' || concat_ws(' ', t.visit, t.stage, t.unit)
       FROM tasks t LEFT JOIN attempts a USING (item_id, visit, stage, unit) WHERE t.item_id = $1
       GROUP BY t.item_id, t.visit, t.stage, t.unit
       HAVING count(a.id) <> t.attempt - (t.status = 'running')::int OR count(DISTINCT a.fence) <> count(a.id)
     UNION ALL
     SELECT 'crashes that were lost count of: ' || concat_ws(' ', t.visit, t.stage, t.unit)
       FROM tasks t LEFT JOIN attempts a USING (item_id, visit, stage, unit) WHERE t.item_id = $1
       GROUP BY t.item_id, t.visit, t.stage, t.unit HAVING count(a.id) FILTER (WHERE a.result = 'crash') <> t.crashes
     UNION ALL
     SELECT 'too many isolated stages on ' || worker FROM tasks WHERE status = 'running' AND isolated
       GROUP BY worker, item_id HAVING count(*) > 4
     UNION ALL
     SELECT 'blamed without a process of its own: ' || concat_ws(' ', t.visit, t.stage, t.unit) FROM tasks t
       WHERE t.item_id = $1 AND t.own_deaths > 0`,
    [id],
  );
  const item = await itemOf(spine.pool, id);
  const trail = await auditOf(spine.pool, id);
  const illegal = trail
    .slice(1)
    .filter(({ from, to }) => !VIAS.some((via) => isLegalMove(pipeline, { from: from ?? '', to, via })));
  return [
    ...rows.map((each) => each.what),
    ...(await trailFaults(spine.pool, id)),
    ...illegal.map(({ from, to }) => `the table has no move ${from} → ${to}`),
    ...(stateNamesOf(pipeline).includes(item.state) ? [] : [`unknown state ${item.state}`]),
    ...(isEnd(rowOf(pipeline, item.state)) === (item.endedAt !== null)
      ? []
      : [`${item.state} and ended ${String(item.endedAt)}`]),
  ];
}

/** The effects of each visit. No effect may be added to a visit that has ended. */
async function effectsByVisit(id: string): Promise<Map<number, number>> {
  const { rows } = await spine.pool.query<{ visit: number; n: number }>(
    'SELECT visit, count(*)::int AS n FROM canary_effects WHERE item_id = $1 GROUP BY visit',
    [id],
  );
  return new Map(rows.map((each) => [each.visit, each.n]));
}

describe.each([
  ['a canary', canary],
  ['several stages in one state', several],
  ['a fan-out inside its state', spreadAny],
])('whatever is done to an item of %s, in any order and at once', (_, pipeline) => {
  it('no effect is doubled or late, no move is lost, none is illegal', async () => {
    await fc.assert(
      fc.asyncProperty(story, async (batches) => {
        const id = await byHand(spine.pool, pipeline).make();
        const game = play(pipeline, id);
        const closed = new Map<number, number>();
        for (const batch of batches) {
          await Promise.all(batch.map((each) => game.perform(each)));

          expect(await brokenPromises(pipeline, id)).toEqual([]);
          const effects = await effectsByVisit(id);
          expect([...effects.values()].reduce((sum, n) => sum + n, 0)).toBe(game.finished());
          for (const [visit, count] of closed) expect(effects.get(visit) ?? 0).toBe(count);
          const { visit, endedAt } = await itemOf(spine.pool, id);
          for (let past = 1; past <= visit; past += 1) {
            if (past < visit || endedAt) closed.set(past, effects.get(past) ?? 0);
          }
        }
      }),
      // A slow machine runs fewer stories. A failed story is shown as it was, because looking for a shorter one takes too long.
      { numRuns: 8, interruptAfterTimeLimit: 8_000, endOnFailure: true },
    );
  });
});
