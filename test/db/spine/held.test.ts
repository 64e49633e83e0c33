import fc from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { claimTask } from '../../../src/db/spine/claim/claim.js';
import { releaseHeld } from '../../../src/db/spine/held.js';
import { pausePipeline, resumePipeline, walkReleased } from '../../../src/db/spine/pipeline-pause.js';
import { holdLock } from '../../support/barrier.js';
import { itemOf } from '../../support/facts.js';
import { readsOf } from '../../support/reads.js';
import { byHand, ROOT, useSpine } from '../../support/spine.js';
import { spreadAll, straight } from '../../support/tables.js';

const spine = useSpine();
// Marks are looked for in the whole table.
beforeEach(() => spine.pool.query('DELETE FROM items; DELETE FROM holds'));

const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;

function pause(forMs: number, pipeline = 'straight'): Promise<unknown> {
  return pausePipeline(spine.pool, { pipeline, actor: ROOT, reason: 'looking', forMs });
}

function resume(pipeline = 'straight'): Promise<boolean> {
  return resumePipeline(spine.pool, { pipeline, actor: ROOT });
}

async function endPause(): Promise<void> {
  await spine.pool.query(`UPDATE holds SET until = now() - interval '1 ms'`);
}

async function heldByOf(itemId: string): Promise<string | null> {
  const { rows } = await spine.pool.query<{ held_by: string | null }>('SELECT held_by FROM items WHERE id = $1', [
    itemId,
  ]);
  return rows[0]?.held_by ?? null;
}

async function isWoken(itemId: string): Promise<boolean> {
  return (await itemOf(spine.pool, itemId)).wakeAfter !== null;
}

describe('an item that was answered a hold of its pipeline', () => {
  it('is woken when the pause was replaced by a shorter one, and that one has ended', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await pause(DAY_MS);
    expect(await hand.claim(id)).toMatchObject({ is: 'hold', reason: 'paused' });
    await pause(60_000);
    expect(await releaseHeld(spine.pool, 10)).toBe(0);

    await endPause();
    expect(await releaseHeld(spine.pool, 10)).toBe(1);

    expect(await isWoken(id)).toBe(true);
    expect(await heldByOf(id)).toBeNull();
    expect(await releaseHeld(spine.pool, 10)).toBe(0);
  });

  it('sleeps an hour at most, and the items of one pause do not wake at one moment', async () => {
    const hand = byHand(spine.pool, straight);
    await pause(DAY_MS);
    const sleeps = new Set<number>();
    for (let n = 0; n < 5; n += 1) {
      const claim = await hand.claim(await hand.make());
      if (claim.is !== 'hold') throw new Error(`the claim was answered ${claim.is}`);
      expect(claim.forMs).toBeLessThanOrEqual(HOUR_MS);
      expect(claim.forMs).toBeGreaterThan(0.8 * HOUR_MS);
      sleeps.add(claim.forMs);
    }
    expect(sleeps.size).toBeGreaterThan(1);
  });

  it('needs no wake once a claim of it is granted', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await pause(DAY_MS);
    await hand.claim(id);
    await endPause();

    await hand.claimed(id);

    expect(await heldByOf(id)).toBeNull();
    expect(await isWoken(id)).toBe(false);
  });

  it('loses its mark and gets no wake where its run has ended, because the sweep rescues it', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await pause(DAY_MS);
    await hand.claim(id);
    await spine.pool.query('UPDATE items SET run_ended_at = now() WHERE id = $1', [id]);
    await resume();

    expect(await releaseHeld(spine.pool, 10)).toBe(1);

    expect(await heldByOf(id)).toBeNull();
    expect(await isWoken(id)).toBe(false);
  });

  it('is woken though the pause was lifted between the look of its claim at the pause and its answer', async () => {
    await spine.pool.query(
      `CREATE FUNCTION pass_gate() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END';
       CREATE TRIGGER gate BEFORE UPDATE OF held_by ON items FOR EACH ROW
         WHEN (NEW.held_by IS NOT NULL) EXECUTE FUNCTION pass_gate()`,
    );
    onTestFinished(async () => void (await spine.pool.query('DROP TRIGGER gate ON items; DROP FUNCTION pass_gate')));
    const hand = byHand(spine.pool, straight);
    const attempt = await hand.attempt(await hand.make());
    await pause(DAY_MS);
    const gate = await holdLock(spine, 'SELECT pg_advisory_xact_lock(4711)');
    const claim = await gate.start((pool) => claimTask(pool, straight, attempt));
    await resume();
    expect(await releaseHeld(spine.pool, 10)).toBe(0);

    await gate.release();

    expect(await claim.result).toMatchObject({ is: 'hold', reason: 'paused' });
    expect(await releaseHeld(spine.pool, 10)).toBe(1);
    expect(await isWoken(attempt.itemId)).toBe(true);
  });

  it('is woken though the page before it could not lock it', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await pause(DAY_MS);
    await hand.claim(id);
    await resume();
    const client = await spine.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM items WHERE id = $1 FOR NO KEY UPDATE', [id]);
      expect(await releaseHeld(spine.pool, 10)).toBe(0);
      await client.query('COMMIT');
    } finally {
      client.release();
    }

    expect(await releaseHeld(spine.pool, 10)).toBe(1);
    expect(await isWoken(id)).toBe(true);
  });
});

describe('a run that asks for its step', () => {
  it('is told to wait for the pause of its pipeline, and its item is marked', async () => {
    const hand = byHand(spine.pool, spreadAll);
    const id = await hand.make();
    await hand.finish(await hand.claimed(id), 'done', ['a', 'b']);
    const running = await hand.claimed(id, { stage: 'upload', unit: 'a' });
    await pause(DAY_MS, 'spread-all');
    expect(await hand.claim(id, { stage: 'upload', unit: 'b' })).toMatchObject({ is: 'hold', reason: 'paused' });
    await resume('spread-all');
    await releaseHeld(spine.pool, 10);
    await pause(60_000, 'spread-all');
    await hand.finish(running);

    expect(await hand.next(id)).toMatchObject({ do: 'wait', reason: 'paused' });
    expect(await heldByOf(id)).toBe('pause');

    await resume('spread-all');
    expect(await hand.next(id)).toMatchObject({ do: 'units', units: ['b'] });
  });

  it('is told to wait for a breaker that lets no item through yet', async () => {
    const table = { ...straight, breaker: BREAKER } as const;
    const hand = byHand(spine.pool, table);
    const id = await hand.make();
    await spine.pool.query(
      `INSERT INTO breakers (pipeline, class, state, stages, reason, next_pass_at, probe_every_ms)
       VALUES ('straight', 'NETWORK_ERROR', 'open', '{read}', 'down', now() + interval '1 minute', 60000)
       ON CONFLICT (pipeline, class) DO UPDATE SET state = 'open', next_pass_at = excluded.next_pass_at`,
    );
    await spine.pool.query(
      `INSERT INTO holds (pipeline, kind, key, until, reason, set_by) VALUES ('straight', 'breaker', 'NETWORK_ERROR', 'infinity', 'down', 'system')`,
    );

    expect(await hand.next(id)).toMatchObject({ do: 'wait', reason: 'breaker_open' });
    expect(await heldByOf(id)).toBe('breaker:NETWORK_ERROR');
    expect(await releaseHeld(spine.pool, 10)).toBe(0);

    await spine.pool.query(`DELETE FROM holds; UPDATE breakers SET state = 'closed'`);
    expect(await releaseHeld(spine.pool, 10)).toBe(1);
    expect(await hand.next(id)).toMatchObject({ do: 'stage', stage: 'read' });
  });
});

const BREAKER = {
  share: 0.5,
  failures: 5,
  sample: 50,
  window: '5m',
  probeAfter: '30s',
  probeMax: '5m',
  releasePerSecond: 1,
  releaseMaxPerSecond: 32,
} as const;

type Act = 'pause long' | 'pause short' | 'resume' | 'end' | 'turn' | 'claim' | 'ask' | 'claim while resuming';
const ACTS: readonly Act[] = [
  'pause long',
  'pause short',
  'resume',
  'end',
  'turn',
  'claim',
  'ask',
  'claim while resuming',
];

describe('pauses and resumes in any order', () => {
  it('leave no item asleep behind a hold that is gone', async () => {
    const acts = fc.array(fc.record({ act: fc.constantFrom(...ACTS), which: fc.nat({ max: 2 }) }), { maxLength: 25 });
    await fc.assert(fc.asyncProperty(acts, playActs), { numRuns: 60 });
  });
});

/** Plays the acts on three items, and asserts that each item that sleeps at the end is held or is to be woken. */
async function playActs(acts: readonly { act: Act; which: number }[]): Promise<void> {
  await spine.pool.query('DELETE FROM items; DELETE FROM holds');
  const hand = byHand(spine.pool, straight);
  const ids = [await hand.make(), await hand.make(), await hand.make()];
  const asleep = new Set<string>();
  const atWork = new Set<string>();

  async function claim(id: string): Promise<void> {
    if (atWork.has(id)) return;
    const { is } = await hand.claim(id);
    if (is === 'hold') asleep.add(id);
    else asleep.delete(id);
    if (is === 'run') atWork.add(id);
  }
  async function ask(id: string): Promise<void> {
    if (atWork.has(id)) return;
    const step = await hand.next(id);
    if (step.do === 'wait') asleep.add(id);
    else asleep.delete(id);
  }
  for (const { act, which } of acts) {
    const id = ids[which] ?? '';
    switch (act) {
      case 'pause long':
        await pause(DAY_MS);
        break;
      case 'pause short':
        await pause(60_000);
        break;
      case 'resume':
        await resume();
        break;
      case 'end':
        await endPause();
        break;
      case 'turn':
        await releaseHeld(spine.pool, 10);
        break;
      case 'claim':
        await claim(id);
        break;
      case 'ask':
        await ask(id);
        break;
      case 'claim while resuming':
        await Promise.all([claim(id), resume(), releaseHeld(spine.pool, 10)]);
        break;
    }
  }
  while ((await releaseHeld(spine.pool, 10)) > 0);
  const { rows } = await spine.pool.query(`SELECT 1 FROM holds WHERE until > now()`);
  const isPaused = rows.length > 0;
  for (const id of asleep) expect(isPaused || (await isWoken(id))).toBe(true);
}

describe('a turn of the dispatcher', () => {
  it('reads as many rows with a thousand held items as with ten', async () => {
    const hand = byHand(spine.pool, straight);
    await pause(DAY_MS);
    for (let n = 0; n < 10; n += 1) await hand.claim(await hand.make());
    await spine.pool.query('VACUUM ANALYZE items');
    const few = await readsOf(spine, (pool) => releaseHeld(pool, 200));
    await copyItems(1_000);
    await spine.pool.query('VACUUM ANALYZE items');
    const many = await readsOf(spine, (pool) => releaseHeld(pool, 200));

    expect(many.scanned).toBe(0);
    expect(many.found).toEqual(few.found);
  });

  it('walks the live items of a pause that is over by their index, beside many that have ended', async () => {
    const hand = byHand(spine.pool, straight);
    for (let n = 0; n < 5; n += 1) await hand.make();
    await spine.pool.query('UPDATE items SET started = true');
    await copyItems(2_000);
    await spine.pool.query(`UPDATE items SET ended_at = now() WHERE owner = 'copied'`);
    await spine.pool.query('VACUUM ANALYZE items');
    await pause(60_000);
    await endPause();

    const { found, scanned } = await readsOf(spine, (pool) => walkReleased(pool, 200));

    expect(scanned).toBe(0);
    expect(found['items_live_by_id']).toBe(5);
    expect((await spine.pool.query('SELECT 1 FROM items WHERE wake_after IS NOT NULL')).rowCount).toBe(5);
  });
});

/** Copies of one item under other ids. */
async function copyItems(count: number): Promise<void> {
  await spine.pool.query(
    `INSERT INTO items (id, pipeline, owner, state, started, held_by)
     SELECT gen_random_uuid(), pipeline, 'copied', state, true, held_by
     FROM (SELECT * FROM items LIMIT 1) one, generate_series(1, $1)`,
    [count],
  );
}
