import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { BreakerSettings } from '../../../src/core/breaker.js';
import type { ErrorClass } from '../../../src/core/error-class.js';
import type { Pipeline } from '../../../src/core/pipeline.js';
import type { Claimed } from '../../../src/db/spine/attempt.js';
import { FAILURES, SAMPLE, tellBreakers } from '../../../src/db/recovery/breaker-report.js';
import { inTransaction } from '../../../src/db/postgres/client.js';
import { claimTask } from '../../../src/db/spine/claim/claim.js';
import { commitAttempt } from '../../../src/db/spine/commit.js';
import { holdLock } from '../../support/barrier.js';
import { attemptsOf, taskOf } from '../../support/facts.js';
import { readsOf } from '../../support/reads.js';
import { byHand, doneWith, openSpine, type Spine } from '../../support/spine.js';
import { several, straight } from '../../support/tables.js';

let spine: Spine;
beforeAll(async () => {
  spine = await openSpine();
});
afterAll(() => spine.close());

const settings: BreakerSettings = {
  share: 0.5,
  failures: 5,
  sample: 20,
  window: '5m',
  probeAfter: '30s',
  probeMax: '10m',
  releasePerSecond: 1,
  releaseMaxPerSecond: 20,
};

let count = 0;
let line: Pipeline;
/** Each test has a pipeline name of its own, because a breaker holds a whole pipeline. */
beforeEach(() => {
  count += 1;
  line = { ...straight, name: `straight-${String(count)}`, breaker: settings };
});

function hand(pipeline = line) {
  const walker = byHand(spine.limited, pipeline);
  async function make(many = 1): Promise<string[]> {
    return Promise.all(Array.from({ length: many }, () => walker.make()));
  }
  function fail(claimed: Claimed, errorClass: ErrorClass = 'NETWORK_ERROR') {
    const error = { class: errorClass, message: 'nobody there', stage: claimed.stage };
    return walker.commit(claimed, { is: 'error', error, retryInMs: 10 });
  }
  /** Each of these items fails once. */
  async function storm(ids: readonly string[], errorClass?: ErrorClass): Promise<void> {
    for (const id of ids) await fail(await walker.claimed(id), errorClass);
  }
  async function open(): Promise<string[]> {
    const ids = await make(8);
    await storm(ids.slice(0, 5));
    return ids.slice(5);
  }
  return { ...walker, makeMany: make, fail, storm, open };
}

/** READING, with the failures that open a breaker elsewhere as the item's own. */
function withOwnFaults(states: Pipeline['states']): Pipeline['states'] {
  const read = { stage: 'read', tries: 3, within: '10s', spent: 'leave', ownFaults: ['NETWORK_ERROR'] } as const;
  return { ...states, READING: { does: read, then: { done: 'CHECKING' } } };
}

interface Row {
  state: string;
  stages: string[];
  round: number;
  perSecond: number;
  probing: boolean;
  openedAt: Date;
  inMs: number;
}

async function breakerOf(pipeline = line, errorClass: ErrorClass = 'NETWORK_ERROR'): Promise<Row | undefined> {
  const { rows } = await spine.pool.query<Row>(
    `SELECT state, stages, round, per_second AS "perSecond", probing, opened_at AS "openedAt",
       extract(epoch FROM next_pass_at - now())::float8 * 1000 AS "inMs"
     FROM breakers WHERE pipeline = $1 AND class = $2`,
    [pipeline.name, errorClass],
  );
  return rows[0];
}

/** Acts as if that much time had passed since the breaker last let an item through. */
async function makeDue(pipeline = line): Promise<void> {
  await spine.pool.query(`UPDATE breakers SET next_pass_at = now() - interval '1 ms' WHERE pipeline = $1`, [
    pipeline.name,
  ]);
}

async function eventsOf(pipeline = line): Promise<string[]> {
  const { rows } = await spine.pool.query<{ id: string }>(
    'SELECT id FROM outbox WHERE pipeline = $1 ORDER BY created_at, kind DESC',
    [pipeline.name],
  );
  return rows.map((each) => each.id);
}

async function holdsOf(pipeline = line): Promise<unknown[]> {
  const { rows } = await spine.pool.query<object>(`SELECT kind, key FROM holds WHERE pipeline = $1`, [pipeline.name]);
  return rows;
}

describe('a breaker', () => {
  it('is opened by the commit of the fifth failure, raises one event, and holds later claims', async () => {
    const walk = hand();
    const ids = await walk.makeMany(6);
    await walk.storm(ids.slice(0, 4));
    expect(await breakerOf()).toBeUndefined();

    await walk.storm(ids.slice(4, 5));

    const opened = await breakerOf();
    expect(opened).toMatchObject({ state: 'open', stages: ['read'], probing: false });
    expect(await holdsOf()).toEqual([{ kind: 'breaker', key: 'NETWORK_ERROR' }]);
    expect(await eventsOf()).toEqual([
      `breaker_opened:${line.name}:NETWORK_ERROR:${opened?.openedAt.toISOString() ?? ''}:read`,
    ]);
    const claim = await walk.claim(ids[5] ?? '');
    expect(claim).toMatchObject({ is: 'hold', reason: 'breaker_open' });
    expect(claim.is === 'hold' && claim.forMs).toBeGreaterThan(20_000);
  });

  it('costs no item a try: a held item gets no error, no attempt and no crash', async () => {
    const walk = hand();
    const [waiting = ''] = await walk.open();
    for (let times = 0; times < 3; times += 1) await walk.claim(waiting);

    expect(await taskOf(spine.pool, waiting, 'read')).toMatchObject({
      status: 'waiting',
      errors: 0,
      attempt: 0,
      crashes: 0,
    });
    expect(await attemptsOf(spine.pool, waiting)).toEqual([]);
  });

  it('is opened also by failures that end together', async () => {
    const walk = hand();
    const claimed = await Promise.all((await walk.makeMany(5)).map((id) => walk.claimed(id)));
    await Promise.all(claimed.map((each) => walk.fail(each)));
    expect(await breakerOf()).toMatchObject({ state: 'open' });
    expect(await eventsOf()).toHaveLength(1);
  });

  it('is looked for among failures alone, however many attempts succeeded', async () => {
    await spine.pool.query(
      `INSERT INTO attempts (item_id, pipeline, visit, stage, attempt, fence, started_at, result, error_class)
       SELECT gen_random_uuid(), 'busy', 1, 'read', 1, 1, now(), CASE n % 1000 WHEN 0 THEN 'error' ELSE 'done' END,
         CASE n % 1000 WHEN 0 THEN 'NETWORK_ERROR' END FROM generate_series(1, 20000) n`,
    );
    await spine.pool.query('ANALYZE attempts');
    const values = ['busy', 'read', 'NETWORK_ERROR', 300_000, 5];
    const { rows } = await spine.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${FAILURES}`, values);
    expect(rows.map((each) => each['QUERY PLAN']).join('\n')).toContain('attempts_failed');
    const { found, scanned } = await readsOf(spine, (pool) =>
      pool.query(SAMPLE, ['busy', 'read', 'NETWORK_ERROR', 300_000, 50]),
    );
    expect({ found, scanned }).toEqual({ found: { attempts_latest: 50 }, scanned: 0 });
    await spine.pool.query(`DELETE FROM attempts WHERE pipeline = 'busy'`);
  });

  it('stays closed after a failure among more successes without a look under its lock, so that no failing commit waits for another', async () => {
    const walk = hand();
    const ids = await walk.makeMany(14);
    for (const id of ids.slice(0, 8)) await walk.finish(await walk.claimed(id));
    await walk.storm(ids.slice(8, 13));
    const looking = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';
    const lock = await holdLock(spine, looking, [`breaker:${line.name}`]);

    await walk.storm(ids.slice(13)).finally(() => lock.release());

    expect(await breakerOf()).toBeUndefined();
  });

  it('is not opened by processes that did not start, because they say nothing of the stage', async () => {
    const walk = hand();
    const ids = await walk.makeMany(8);
    for (const id of ids) {
      const error = { class: 'UNKNOWN', message: 'the process did not start', stage: 'read' } as const;
      await walk.commit(await walk.claimed(id), { is: 'unbegun', error, retryInMs: 10 });
    }
    const { rows } = await spine.pool.query('SELECT 1 FROM breakers WHERE pipeline = $1', [line.name]);
    expect(rows).toEqual([]);
  });

  it('is opened by spent tries as well', async () => {
    const walk = hand();
    for (const id of await walk.makeMany(5)) {
      const error = { class: 'LLM_ERROR' as const, message: 'x', stage: 'read' };
      await walk.commit(await walk.claimed(id), { is: 'spent', error });
    }
    expect(await breakerOf(line, 'LLM_ERROR')).toMatchObject({ state: 'open' });
  });

  it.each([
    [
      'what is wrong with the items themselves',
      async (walk: ReturnType<typeof hand>) => {
        await walk.storm(await walk.makeMany(8), 'BAD_INPUT');
      },
    ],
    [
      'what is the doing of the items themselves in this stage',
      async (walk: ReturnType<typeof hand>) => {
        line = { ...line, states: withOwnFaults(line.states) };
        await hand().storm(await walk.makeMany(8), 'NETWORK_ERROR');
      },
    ],
    [
      'one item that fails again and again',
      async (walk: ReturnType<typeof hand>) => {
        const [id = ''] = await walk.makeMany();
        for (let times = 0; times < 8; times += 1) await walk.fail(await walk.claimed(id));
      },
    ],
    [
      'crashes',
      async (walk: ReturnType<typeof hand>) => {
        for (const id of await walk.makeMany(8)) {
          await walk.claimed(id);
          await walk.claimed(id);
        }
      },
    ],
    [
      'failures of different classes',
      async (walk: ReturnType<typeof hand>) => {
        await walk.storm(await walk.makeMany(4), 'NETWORK_ERROR');
        await walk.storm(await walk.makeMany(4), 'LLM_ERROR');
      },
    ],
    [
      'failures among more successes',
      async (walk: ReturnType<typeof hand>) => {
        for (const id of await walk.makeMany(9)) await walk.finish(await walk.claimed(id));
        await walk.storm(await walk.makeMany(8));
      },
    ],
    [
      'failures longer ago than the window',
      async (walk: ReturnType<typeof hand>) => {
        await walk.storm(await walk.makeMany(4));
        await spine.pool.query(`UPDATE attempts SET ended_at = ended_at - interval '6 minutes' WHERE pipeline = $1`, [
          line.name,
        ]);
        await walk.storm(await walk.makeMany(4));
      },
    ],
  ])('is not opened by %s', async (_, happen) => {
    await happen(hand());
    const { rows } = await spine.pool.query('SELECT 1 FROM breakers WHERE pipeline = $1', [line.name]);
    expect(rows).toEqual([]);
  });

  it('is not kept closed by earlier successes, because only the last attempts count', async () => {
    const walk = hand();
    for (const id of await walk.makeMany(40)) await walk.finish(await walk.claimed(id));
    await walk.storm(await walk.makeMany(10));
    expect(await breakerOf()).toMatchObject({ state: 'open' });
  });

  it('holds the stages that failed and lets the other stages go on', async () => {
    line = { ...several, name: line.name, breaker: settings };
    const walk = hand();
    const [before = '', ...failing] = await walk.makeMany(6);
    for (const id of failing) await walk.walk(id, 'extract', 'enrich');
    for (const id of failing) await walk.fail(await walk.claimed(id, { stage: 'judge' }), 'LLM_ERROR');

    expect(await breakerOf(line, 'LLM_ERROR')).toMatchObject({ stages: ['judge'] });
    await walk.walk(before, 'extract', 'enrich');
    expect(await walk.claim(before, { stage: 'judge' })).toMatchObject({ is: 'hold', reason: 'breaker_open' });
  });

  it('holds another stage too that fails in the same way', async () => {
    const walk = hand();
    const ids = await walk.makeMany(5);
    for (const id of ids) await walk.walk(id, 'read');
    await walk.storm(ids);
    expect(await breakerOf()).toMatchObject({ stages: ['check'], round: 1 });
    await walk.storm(await walk.makeMany(5));
    expect(await breakerOf()).toMatchObject({ state: 'open', stages: ['check', 'read'], round: 2 });
    const told = await eventsOf();
    expect(told.map((id) => id.split(':').at(-1)).sort()).toEqual(['check', 'read']);
  });

  it('does not open for a table without breaker settings', async () => {
    line = { ...straight, name: line.name };
    const walk = hand();
    await walk.storm(await walk.makeMany(8));
    expect(await breakerOf()).toBeUndefined();
  });
});

describe('among many claims that come when one may pass', () => {
  it('exactly one passes', async () => {
    const walk = hand();
    await walk.open();
    const attempts = await Promise.all((await walk.makeMany(10)).map((id) => walk.attempt(id)));
    for (let probe = 1; probe <= 3; probe += 1) {
      await makeDue();
      const claims = await Promise.all(attempts.map((each) => claimTask(spine.limited, line, each)));
      // A claim that passed before and is asked again holds its task already.
      const fresh = claims.filter((each) => each.is === 'run').length;
      expect(fresh).toBe(probe);
      expect(claims.filter((each) => each.is === 'hold')).toHaveLength(10 - probe);
    }
  });

  it('the next is due after twice the wait, however the first ends', async () => {
    const walk = hand();
    const [first = '', second = ''] = await walk.open();
    await makeDue();
    await walk.claimed(first);
    const breaker = await breakerOf();
    expect(breaker).toMatchObject({ state: 'open', probing: true });
    expect(breaker?.inMs).toBeGreaterThan(50_000);
    await makeDue();
    await walk.claimed(second);
    expect((await breakerOf())?.inMs).toBeGreaterThan(110_000);
  });

  it('a claim takes no place that it does not use', async () => {
    const walk = hand();
    const [waiting = '', other = '', suspect = ''] = await walk.open();
    for (const id of [waiting, suspect]) await walk.claim(id);
    await makeDue();
    // Its worker has one place, which another suspect has, so the claim is answered without a run.
    await spine.pool.query(`UPDATE tasks SET crashes = 2 WHERE item_id = $1`, [waiting]);
    await spine.pool.query(
      `UPDATE tasks SET status = 'running', isolated = true, worker = 'worker-s' WHERE item_id = $1`,
      [suspect],
    );
    expect(await walk.claim(waiting, { worker: 'worker-s', places: 1 })).toMatchObject({ reason: 'suspect_wait' });
    await walk.claimed(other);
  });
});

describe('an item that was let through', () => {
  async function probe(walk = hand()) {
    const waiting = await walk.open();
    await makeDue();
    return { walk, waiting, claimed: await walk.claimed(waiting[0] ?? '') };
  }

  it('begins the release of the others when it succeeds', async () => {
    const { walk, claimed } = await probe();
    await walk.finish(claimed);
    expect(await breakerOf()).toMatchObject({ state: 'releasing', perSecond: 1, round: 2 });
  });

  it('keeps the breaker open when it fails in the same way, at the cost of one try', async () => {
    const { walk, claimed } = await probe();
    await walk.fail(claimed);
    expect(await breakerOf()).toMatchObject({ state: 'open', probing: false, round: 1 });
    expect(await taskOf(spine.pool, claimed.itemId, 'read')).toMatchObject({ errors: 1 });
  });

  it('does not count when its commit is refused', async () => {
    const { claimed } = await probe();
    const stale = { ...claimed, fence: claimed.fence - 1 };
    expect(await commitAttempt(spine.limited, line, stale, doneWith(stale))).toBe('superseded');
    expect(await breakerOf()).toMatchObject({ state: 'open' });
  });

  it('alone counts: the success of an attempt from before the storm proves nothing', async () => {
    const walk = hand();
    const [before = ''] = await walk.makeMany();
    const claimed = await walk.claimed(before);
    await walk.open();
    await walk.finish(claimed);
    expect(await breakerOf()).toMatchObject({ state: 'open', round: 1 });
  });

  it('opens the breaker again when it fails during the release; items let through before no longer count', async () => {
    const { walk, waiting, claimed } = await probe();
    await walk.finish(claimed);
    const [, second = '', third = ''] = waiting;
    const failing = await walk.claimed(second);
    await makeDue();
    const late = await walk.claimed(third);
    await walk.fail(failing);
    expect(await breakerOf()).toMatchObject({ state: 'open', round: 3 });

    await walk.finish(late);

    expect(await breakerOf()).toMatchObject({ state: 'open', round: 3 });
  });

  it('closes the breaker when so many items have succeeded that it holds none back', async () => {
    const { walk, claimed } = await probe();
    await walk.finish(claimed);
    const ids = await walk.makeMany(31);
    for (const id of ids) {
      expect(await breakerOf()).toMatchObject({ state: 'releasing' });
      await makeDue();
      await walk.finish(await walk.claimed(id));
    }
    expect(await breakerOf()).toMatchObject({ state: 'closed' });
    expect(await holdsOf()).toEqual([]);
    expect((await eventsOf()).map((each) => each.split(':')[0])).toEqual(['breaker_opened', 'breaker_closed']);
    // Earlier failures no longer count: only a new storm opens the breaker.
    await walk.storm(await walk.makeMany(4));
    expect(await breakerOf()).toMatchObject({ state: 'closed' });
    await walk.storm(await walk.makeMany(1));
    expect(await breakerOf()).toMatchObject({ state: 'open', stages: ['read'] });
    expect(await eventsOf()).toHaveLength(3);
  });
});

describe('an attempt that two breakers let through', () => {
  it('locks them in the order in which claims do, so that a claim and a commit do not wait for each other', async () => {
    await spine.pool.query(
      `INSERT INTO breakers (pipeline, class, state, stages, reason, next_pass_at, probe_every_ms)
       SELECT $1, class, 'open', '{read}', 'a storm', now(), 1000 FROM unnest(ARRAY['DB_ERROR', 'NETWORK_ERROR']) class`,
      [line.name],
    );
    const lock = 'SELECT 1 FROM breakers WHERE pipeline = $1 AND class = $2 FOR UPDATE';
    const first = await holdLock(spine, lock, [line.name, 'DB_ERROR']);
    const passes = [
      { class: 'NETWORK_ERROR', round: 1 },
      { class: 'DB_ERROR', round: 1 },
    ] as const;

    const telling = await first.start((pool) =>
      inTransaction(pool, (transaction) =>
        tellBreakers(transaction, line, { passes } as unknown as Claimed, { is: 'done', outcome: 'done' }),
      ),
    );
    // A claim that holds the first breaker goes on to the second, which nobody may hold meanwhile.
    await spine.pool.query(`${lock} NOWAIT`, [line.name, 'NETWORK_ERROR']);
    await first.release();
    await telling.result;
  });
});
