import { randomUUID } from 'node:crypto';
import { type Logger, pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createSweep } from '../../../src/activities/maintenance/sweep.js';
import { sweepItem } from '../../../src/activities/maintenance/sweep-item.js';
import { AppError } from '../../../src/core/errors.js';
import type { Pipeline } from '../../../src/core/pipeline.js';
import type { RunRef } from '../../../src/core/run.js';
import type { SweepPage } from '../../../src/core/sweep-page.js';
import { inTransaction } from '../../../src/db/postgres/client.js';
import { pauseItem, rescueItem } from '../../../src/db/spine/control.js';
import { deleteItem } from '../../../src/db/spine/delete-item.js';
import { type StuckRow, takeStuck } from '../../../src/db/recovery/stuck.js';
import { registerWorker } from '../../../src/db/recovery/workers.js';
import type { Engine } from '../../../src/ports/engine.js';
import { createFakeEngine, type FakeEngine } from '../../api/fake-engine.js';
import { holdItem } from '../../support/barrier.js';
import { attemptsOf, auditOf, itemOf } from '../../support/facts.js';
import { eventsOf, receiptsOf } from '../../support/receipts.js';
import { byHand, FAILURE, ROOT, useSpine } from '../../support/spine.js';
import { resting, reviewed, spreadAll, straight } from '../../support/tables.js';

const spine = useSpine();
const silent = pino({ level: 'silent' });
const NOTHING = {
  totalStuck: 0,
  reEnqueued: 0,
  permanentlyFailed: 0,
  parked: 0,
  reported: 0,
  endedRuns: 0,
  errors: [],
};

/** A pipeline under a name of its own, so that a sweep sees the items of one test; Temporal says that every run is gone. */
function scene(table: Pipeline = straight, logger: Logger = silent) {
  const pipeline = { ...table, name: `${table.name}-${randomUUID().slice(0, 8)}` };
  const engine = createFakeEngine();
  engine.status = { is: 'gone', how: 'terminated' };
  engine.queueStatus = { pollers: [{ identity: 'stranger', seenAt: new Date() }], backlog: 0, oldestMs: null };
  const hand = byHand(spine.pool, pipeline);

  /** Begun, and silent for so long. */
  async function stuck(seconds = 60, more = ''): Promise<string> {
    const id = await hand.make();
    await spine.pool.query(
      `UPDATE items SET started = true, beat_at = now() - $2 * interval '1 second' ${more} WHERE id = $1`,
      [id, seconds],
    );
    return id;
  }
  async function sweep(options: { engine?: Engine; perSecond?: number; startedAt?: Date } = {}): Promise<SweepPage> {
    const { sweepPage } = createSweep({
      pool: spine.limited,
      engine: options.engine ?? engine,
      pipelines: { [pipeline.name]: pipeline },
      logger,
      rescuesPerSecond: options.perSecond ?? 1_000,
    });
    const startedAt = (options.startedAt ?? new Date()).toISOString();
    return sweepPage({ pipeline: pipeline.name, startedAt, rescuesLeft: 0 });
  }
  return { pipeline, engine, hand, stuck, sweep, find: () => pipeline };
}

describe('a sweep rescues', () => {
  it('an item whose run is gone: another run in the same visit, an audit entry, a receipt', async () => {
    const { hand, sweep } = scene();
    const id = await hand.make();
    await hand.walk(id, 'read');
    await hand.claimed(id);
    await silence(id);

    expect(await sweep()).toMatchObject({
      ...{ examined: 1, isLast: true, totalStuck: 1, reEnqueued: 1, permanentlyFailed: 0, byStatus: { CHECKING: 1 } },
      byReason: { workflow_closed: 1 },
      errors: [],
    });

    expect(await itemOf(spine.pool, id)).toMatchObject({
      state: 'CHECKING',
      visit: 1,
      epoch: 2,
      rescues: 1,
      started: false,
    });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'rescue', actor: 'system', epoch: 2 });
    expect(await receiptsOf(spine.pool, id)).toMatchObject([
      { reason: 'workflow_closed', stagesAgain: ['check'], actor: 'system', result: 'waiting', epoch: 2 },
    ]);
    expect(await hand.next(id)).toMatchObject({ do: 'stage', stage: 'check' });
  });

  it('what said that its run ended, without waiting for silence, but for the backoff', async () => {
    const { stuck, sweep } = scene();
    const due = await stuck(0, ', run_ended_at = now()');
    const waiting = await stuck(
      0,
      `, run_ended_at = now(), rescues = 1, next_rescue_after = now() + interval '1 minute'`,
    );

    expect(await sweep()).toMatchObject({ examined: 1, reEnqueued: 1 });
    expect(await itemOf(spine.pool, due)).toMatchObject({ epoch: 2 });
    expect(await itemOf(spine.pool, waiting)).toMatchObject({ epoch: 1 });
  });

  it('to where the table says, and starts what Temporal never heard of as it is', async () => {
    const { hand, engine, sweep, pipeline } = scene(resting);
    const id = await hand.make();
    await spine.pool.query(`UPDATE items SET state = 'queued' WHERE id = $1`, [id]);
    await hand.claimed(id, { stage: 'convert', state: 'converting' });
    await silence(id);
    await sweep();
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'queued', epoch: 2 });

    await silence(id);
    engine.status = { is: 'gone', how: 'never_existed' };
    expect(await sweep({ startedAt: later() })).toMatchObject({ reEnqueued: 0, started: 1 });
    expect(await receiptsOf(spine.pool, id)).toHaveLength(1);
    expect(engine.started).toMatchObject([{ pipeline: pipeline.name, itemId: id, epoch: 2, step: { do: 'next' } }]);
    expect(await itemOf(spine.pool, id)).toMatchObject({ epoch: 2, rescues: 1 });
  });

  it('a first run that Temporal lost before anybody took it up: one receipt, which its first claim completes', async () => {
    const { hand, engine, sweep } = scene();
    const id = await hand.make();
    await silence(id);
    await spine.pool.query('UPDATE items SET accepted_at = beat_at WHERE id = $1', [id]);
    engine.status = { is: 'gone', how: 'never_existed' };
    const lost = { reason: 'start_lost', epoch: 1, stage: null, stagesAgain: [], actor: 'system' };

    expect(await sweep()).toMatchObject({ started: 1, reEnqueued: 0 });
    expect(await receiptsOf(spine.pool, id)).toMatchObject([{ ...lost, result: 'waiting', movingAt: null }]);
    const restarted = { from: 'READING', to: 'READING', trigger: 'rescue', actor: 'system', version: 2, epoch: 1 };
    expect((await auditOf(spine.pool, id)).slice(1)).toMatchObject([restarted]);
    expect(await metadataOf(id, 'rescue')).toMatchObject([{ stopped: 'start_lost' }]);
    // Lost a second time, it is the same recovery.
    expect(await sweep({ startedAt: later() })).toMatchObject({ started: 1 });
    expect(engine.started.map(({ epoch, step }) => `${String(epoch)} ${step.do}`)).toEqual(['1 stage', '1 stage']);
    expect(await auditOf(spine.pool, id)).toHaveLength(2);
    await hand.walk(id, 'read:empty');

    expect(await receiptsOf(spine.pool, id)).toMatchObject([
      { ...lost, result: 'moving', movingAt: expect.any(Date) as Date },
    ]);
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'DONE', epoch: 1, rescues: 0 });
    expect(await attemptsOf(spine.pool, id)).toEqual(['read done']);
  });

  it.each(['taken up', 'started'])('no start that somebody has %s while Temporal was asked', async (what) => {
    const { hand, engine, sweep } = scene();
    const id = await hand.make();
    await silence(id);
    await spine.pool.query('UPDATE items SET accepted_at = beat_at WHERE id = $1', [id]);
    const late: Engine = {
      ...engine,
      async describe() {
        if (what === 'taken up') await hand.claimed(id);
        else await spine.pool.query('UPDATE items SET accepted_at = now() WHERE id = $1', [id]);
        return { is: 'gone', how: 'never_existed' };
      },
    };

    expect(await sweep({ engine: late })).toMatchObject({ started: 0 });
    expect(engine.started).toEqual([]);
    expect(await receiptsOf(spine.pool, id)).toEqual([]);
  });

  it('runs that Temporal lost at no cost', async () => {
    const { stuck, engine, sweep } = scene();
    const id = await stuck(60, ', rescues = 3, last_rescue_at = now()');
    engine.status = { is: 'gone', how: 'never_existed' };
    expect(await sweep()).toMatchObject({ reEnqueued: 1, permanentlyFailed: 0 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ epoch: 2, rescues: 3 });
  });

  it('items whose runs ended at its pace, and items whose runs Temporal lost without waiting', async () => {
    const { stuck, engine, pipeline } = scene();
    await Promise.all([stuck(), stuck()]);
    const startedAt = new Date().toISOString();
    const rows = await takeStuck(spine.pool, pipeline, { startedAt, limit: 2 });
    const [ended, lost] = rows as [StuckRow, StuckRow];
    const deps = { pool: spine.pool, engine, logger: silent };
    let turns = 0;
    const context = { queue: { pollers: 1, backlog: 0 }, awaitTurn: async () => void (turns += 1) };

    expect(await sweepItem(deps, pipeline, ended, context)).toMatchObject({ did: 'rescued' });
    expect(turns).toBe(1);
    engine.status = { is: 'gone', how: 'never_existed' };
    expect(await sweepItem(deps, pipeline, lost, context)).toMatchObject({ did: 'rescued' });
    expect(turns).toBe(1);
  });

  it('no more items in a page than its pace allows in two seconds', async () => {
    const { stuck, engine, sweep } = scene();
    engine.status = { is: 'gone', how: 'never_existed' };
    await Promise.all(Array.from({ length: 8 }, () => stuck()));
    expect(await sweep({ perSecond: 3 })).toMatchObject({ examined: 6, reEnqueued: 6, isLast: false });
    expect(await sweep({ perSecond: 3, startedAt: later() })).toMatchObject({ examined: 2, isLast: true });
  });

  it('page by page, each item once a sweep', async () => {
    const { pipeline, stuck, engine, sweep } = scene();
    await stuck();
    await spine.pool.query(
      `INSERT INTO items (id, pipeline, owner, state, started, beat_at)
       SELECT gen_random_uuid(), $1, 'ada', 'READING', true, now() - interval '1 hour' FROM generate_series(1, 149)`,
      [pipeline.name],
    );
    engine.status = { is: 'alive', wedgedBy: null };
    const startedAt = new Date();
    const pages = [await sweep({ startedAt }), await sweep({ startedAt }), await sweep({ startedAt })];
    expect(pages.map(({ examined, isLast }) => [examined, isLast])).toEqual([
      [100, false],
      [50, true],
      [0, true],
    ]);
  });
});

describe('a sweep stores the reason that it found', () => {
  const readReason = async (id: string) => {
    const { rows } = await spine.pool.query<object>(
      'SELECT reason, wedged_by AS "wedgedBy", reason_at <= now() AS "isPast" FROM items WHERE id = $1',
      [id],
    );
    return rows[0];
  };

  it('for every item that it leaves as it is', async () => {
    const { stuck, engine, sweep } = scene();
    const id = await stuck();
    expect(await readReason(id)).toEqual({ reason: null, wedgedBy: null, isPast: null });
    engine.status = { is: 'alive', wedgedBy: 'no such type' };
    await sweep();
    expect(await readReason(id)).toEqual({ reason: 'wedged', wedgedBy: 'no such type', isPast: true });
    engine.status = { is: 'alive', wedgedBy: null };
    await sweep({ startedAt: later() });
    expect(await readReason(id)).toEqual({ reason: 'backlog', wedgedBy: null, isPast: true });
  });

  it('for an item whose rescue must wait, and not for an item that it has rescued', async () => {
    const { stuck, sweep } = scene();
    const waits = await stuck(60, `, rescues = 1, next_rescue_after = now() + interval '1 hour'`);
    const rescued = await stuck();
    await sweep();
    expect(await readReason(waits)).toMatchObject({ reason: 'rescue_wait' });
    expect(await readReason(rescued)).toMatchObject({ reason: null });
  });

  it('also if Temporal goes away before the end of the page', async () => {
    const { stuck, engine, sweep } = scene();
    const ids = [await stuck(), await stuck()];
    const away = new AppError('engine_unavailable', 'Temporal does not answer');
    const leaving: Engine = {
      ...engine,
      describe: async ({ itemId }) => {
        if (itemId === ids[1]) throw away;
        return { is: 'alive', wedgedBy: null };
      },
      ping: () => Promise.reject(away),
    };
    await sweep({ engine: leaving });
    expect(await Promise.all(ids.map(readReason))).toMatchObject([{ reason: 'backlog' }, { reason: null }]);
  });

  it('not for an item that has moved meanwhile', async () => {
    const { stuck, engine, find, sweep } = scene();
    const id = await stuck();
    const late: Engine = {
      ...engine,
      async describe() {
        await pauseItem(spine.pool, find, { itemId: id, actor: ROOT, until: 'infinity' });
        return { is: 'alive', wedgedBy: null };
      },
    };
    await sweep({ engine: late });
    expect(await readReason(id)).toMatchObject({ reason: null });
  });
});

describe('a sweep leaves', () => {
  it('everything while Temporal does not answer, and says so', async () => {
    const { stuck, engine, sweep } = scene();
    const id = await stuck(60, ', run_ended_at = now()');
    engine.mood = 'away';
    expect(await sweep()).toMatchObject({
      ...NOTHING,
      isLast: true,
      errors: ['Temporal does not answer: everything is left as it is'],
    });
    expect(await itemOf(spine.pool, id)).toMatchObject({ epoch: 1, version: 1 });
  });

  it('the rest of a page when Temporal goes away over it', async () => {
    const { stuck, engine, sweep } = scene();
    const ids = await Promise.all(Array.from({ length: 12 }, () => stuck()));
    let asked = 0;
    async function describeSome(...args: Parameters<Engine['describe']>) {
      asked += 1;
      if (asked > 3) engine.mood = 'away';
      return engine.describe(...args);
    }
    const page = await sweep({ engine: { ...engine, describe: describeSome } });
    expect(page.errors).toEqual(['Temporal does not answer: everything is left as it is']);
    const items = await Promise.all(ids.map((id) => itemOf(spine.pool, id)));
    expect(items.filter((each) => each.epoch === 2)).toHaveLength(page.reEnqueued);
    expect(page.reEnqueued).toBeLessThanOrEqual(3);
  });

  it('what is slow but alive, and what beats, without a word', async () => {
    const lines: string[] = [];
    const { hand, stuck, engine, sweep } = scene(
      spreadAll,
      pino({}, { write: (line: string) => void lines.push(line) }),
    );
    const slow = await stuck();
    await hand.claimed(slow, { stage: 'prepare' });
    await spine.pool.query(`UPDATE tasks SET beat_at = now() - interval '1 minute' WHERE item_id = $1`, [slow]);
    const spread = await hand.make();
    await hand.finish(await hand.claimed(spread), 'done', ['a']);
    await hand.claimed(spread, { stage: 'upload', unit: 'a' });
    await spine.pool.query(`UPDATE items SET beat_at = now() - interval '1 hour' WHERE id = $1`, [spread]);
    engine.status = { is: 'alive', wedgedBy: null };

    expect(await sweep()).toMatchObject({ ...NOTHING, examined: 1, totalStuck: 1 });
    expect(await itemOf(spine.pool, slow)).toMatchObject({ epoch: 1, rescues: 0 });
    expect(await itemOf(spine.pool, spread)).toMatchObject({ epoch: 1, rescues: 0 });
    expect(lines).toEqual([]);
  });

  it('what awaits a decision, is paused, parked, held or has ended', async () => {
    const { hand, pipeline, stuck, find, sweep } = scene(reviewed);
    const awaiting = await hand.make();
    await hand.walk(awaiting, 'judge:concerns');
    const paused = await hand.make();
    await pauseItem(spine.pool, find, { itemId: paused, actor: ROOT, until: 'infinity' });
    const ended = await hand.make();
    await hand.walk(ended, 'judge:fail');
    for (const id of [awaiting, paused, ended]) await silence(id);
    await stuck(60, ', parked_at = now()');
    expect(await sweep()).toMatchObject({ ...NOTHING, examined: 0 });

    const held = await stuck();
    await spine.pool.query(
      `INSERT INTO holds (pipeline, kind, until, reason, set_by) VALUES ($1, 'pause', 'infinity', 'an upgrade', 'root')`,
      [pipeline.name],
    );
    expect(await sweep({ startedAt: later() })).toMatchObject({ ...NOTHING, examined: 1 });
    expect(await itemOf(spine.pool, held)).toMatchObject({ epoch: 1 });
  });

  it('what somebody changed between the look and the act', async () => {
    const { stuck, engine, sweep, find } = scene();
    const [rescued, paused] = [await stuck(), await stuck()];
    async function describeLate(...args: Parameters<Engine['describe']>) {
      const [run] = args;
      if (run.itemId === rescued) await rescueItem(spine.pool, find, { itemId: rescued, actor: ROOT });
      else await pauseItem(spine.pool, find, { itemId: paused, actor: ROOT, until: 'infinity' });
      return engine.describe(...args);
    }
    expect(await sweep({ engine: { ...engine, describe: describeLate } })).toMatchObject({ reEnqueued: 0, errors: [] });
    expect(await itemOf(spine.pool, rescued)).toMatchObject({ epoch: 2, rescues: 1 });
    expect(await itemOf(spine.pool, paused)).toMatchObject({ epoch: 1, rescues: 0 });
  });

  it('what somebody is writing at this moment', async () => {
    const { stuck, sweep } = scene();
    const id = await stuck();
    const barrier = await holdItem(spine, id);
    expect(await sweep()).toMatchObject({ ...NOTHING, examined: 0 });
    await barrier.release();
    expect(await sweep()).toMatchObject({ reEnqueued: 1 });
  });
});

function wedged(id: string, epoch: number) {
  const sentence = expect.stringContaining('no such type') as string;
  return { id: `item_wedged:${id}:${String(epoch)}`, kind: 'item_wedged', owner: null, sentence };
}

describe('a sweep reports, at no cost to the item', () => {
  it.each<[string, (engine: FakeEngine) => void | Promise<void>]>([
    ['a backlog', () => undefined],
    ['that no worker asks for work', (engine) => void (engine.queueStatus.pollers = [])],
    ['that the only worker is dead, though Temporal lists it', useDeadWorker],
    ['a wedged run', (engine) => void (engine.status = { is: 'alive', wedgedBy: 'no such type' })],
  ])('%s', async (_, arrange) => {
    const { stuck, engine, sweep } = scene();
    const id = await stuck();
    engine.status = { is: 'alive', wedgedBy: null };
    engine.queueStatus.backlog = 7;
    await arrange(engine);
    expect(await sweep()).toMatchObject({ ...NOTHING, totalStuck: 1, reported: 1 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ epoch: 1, rescues: 0, version: 1 });
  });

  it('a wedged run to operators, once for each run', async () => {
    const { stuck, engine, sweep, find } = scene();
    const id = await stuck();
    engine.status = { is: 'alive', wedgedBy: 'no such type' };
    await sweep();
    await sweep({ startedAt: later() });
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    await spine.pool.query(`UPDATE items SET started = true, beat_at = now() - interval '1 hour' WHERE id = $1`, [id]);
    await sweep({ startedAt: later(2) });

    expect(await eventsOf(spine.pool, id)).toMatchObject([1, 2].map((epoch) => wedged(id, epoch)));
  });

  it('a missing worker to operators, once an hour, also where the run is gone', async () => {
    const { pipeline, stuck, engine, sweep } = scene();
    await Promise.all([stuck(), stuck()]);
    engine.queueStatus.pollers = [];
    const before = await hourNow();
    expect(await sweep()).toMatchObject({ reEnqueued: 0, reported: 2 });
    expect(await sweep({ startedAt: later() })).toMatchObject({ reported: 2 });
    const hours = new Set([before, await hourNow()]);
    const { rows } = await spine.pool.query<{ id: string }>(
      `SELECT id, kind, owner FROM outbox WHERE pipeline = $1 ORDER BY id`,
      [pipeline.name],
    );
    expect(rows[0]).toMatchObject({ kind: 'no_worker', owner: null });
    // Two events only if the hour has turned, and then one for each hour.
    expect(rows.length).toBeLessThanOrEqual(hours.size);
    expect(rows.map(({ id }) => id.split(':').at(-1)).every((hour) => hours.has(hour ?? ''))).toBe(true);
  });

  it('a missing worker to operators where every item is inside a stage', async () => {
    const { pipeline, stuck, engine, sweep } = scene();
    const id = await stuck();
    await spine.pool.query(
      `INSERT INTO tasks (item_id, visit, stage, status, fence, attempt, worker, started_at, beat_at)
       VALUES ($1, 1, 'read', 'running', 1, 1, 'frozen', now() - interval '2 h', now() - interval '2 h')`,
      [id],
    );
    engine.status = { is: 'alive', wedgedBy: null };
    engine.queueStatus.pollers = [];

    expect(await sweep()).toMatchObject({ reported: 1, byReason: { no_worker: 1 } });

    const { rows } = await spine.pool.query(`SELECT kind FROM outbox WHERE pipeline = $1`, [pipeline.name]);
    expect(rows).toEqual([{ kind: 'no_worker' }]);
  });

  it('a backlog to operators, once an hour, with how many items wait', async () => {
    const { pipeline, stuck, engine, sweep } = scene();
    await Promise.all([stuck(), stuck()]);
    engine.status = { is: 'alive', wedgedBy: null };
    engine.queueStatus.backlog = 7;
    const before = await hourNow();
    for (const startedAt of [new Date(), later(), later(2)])
      expect(await sweep({ startedAt })).toMatchObject({ reported: 2 });
    const hours = [...new Set([before, await hourNow()])];

    const { rows } = await spine.pool.query<{ id: string; sentence: string }>(
      `SELECT id, kind, owner, sentence, payload FROM outbox WHERE pipeline = $1 ORDER BY id`,
      [pipeline.name],
    );
    expect(hours.map((hour) => `backlog:${pipeline.name}:${hour}`)).toEqual(
      expect.arrayContaining(rows.map(({ id }) => id)),
    );
    expect(rows[0]).toMatchObject({ kind: 'backlog', owner: null, payload: { waiting: 2, tasks: 7 } });
    expect(rows[0]?.sentence).toContain(`2 or more items of ${pipeline.name} have waited for a free worker`);
  });

  it('nothing to operators where no worker asks for work and the pipeline is paused', async () => {
    const { pipeline, stuck, engine, sweep } = scene();
    await stuck();
    await spine.pool.query(
      `INSERT INTO holds (pipeline, kind, until, reason, set_by) VALUES ($1, 'pause', 'infinity', 'an upgrade', 'ada')`,
      [pipeline.name],
    );
    engine.queueStatus.pollers = [];
    await sweep();
    const { rows } = await spine.pool.query(`SELECT 1 FROM outbox WHERE pipeline = $1`, [pipeline.name]);
    expect(rows).toEqual([]);
  });
});

/** The hour of the database's clock, as events name it. */
async function hourNow(): Promise<string> {
  const { rows } = await spine.pool.query<{ now: Date }>('SELECT now() AS now');
  return rows[0]?.now.toISOString().slice(0, 'YYYY-MM-DDTHH'.length) ?? '';
}

describe('a sweep gives up', () => {
  it('an item whose rescues are spent: state, reason, receipt, and its owner is told', async () => {
    const { stuck, sweep } = scene();
    const id = await stuck(60, `, rescues = 3, last_rescue_at = now(), next_rescue_after = now() - interval '1 s'`);
    expect(await sweep()).toMatchObject({ totalStuck: 1, permanentlyFailed: 1, reEnqueued: 0 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'FAILED', endReason: 'STUCK_EXHAUSTED' });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'stuck-exhausted', actor: 'system' });
    expect(await receiptsOf(spine.pool, id)).toMatchObject([{ result: 'exhausted' }]);
    expect(await eventsOf(spine.pool, id)).toMatchObject([{ kind: 'item_exhausted', owner: 'ada' }]);
    expect(await sweep({ startedAt: later() })).toMatchObject({ examined: 0 });
  });

  it('one whose judge was away to a person', async () => {
    const { hand, sweep } = scene(reviewed);
    const id = await hand.make();
    const error = { ...FAILURE, class: 'LLM_ERROR', stage: 'judge' } as const;
    await hand.commit(await hand.claimed(id), { is: 'spent', error });
    await spine.pool.query('UPDATE items SET rescues = 3, last_rescue_at = now() WHERE id = $1', [id]);
    expect(await sweep()).toMatchObject({ permanentlyFailed: 1 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'NEEDS_REVIEW', endedAt: null });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'judge-unavailable', actor: 'system' });
  });

  it('very old work by parking it, until a person acts', async () => {
    const { stuck, sweep } = scene();
    const id = await stuck(8 * 86_400);
    expect(await sweep()).toMatchObject({ parked: 1, reEnqueued: 0 });
    expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'READING', parkedAt: expect.any(Date) as Date });
    expect(await eventsOf(spine.pool, id)).toMatchObject([{ kind: 'item_parked' }]);
    expect(await sweep({ startedAt: later() })).toMatchObject({ examined: 0 });
  });
});

describe('sweeps', () => {
  it('that run at once have one effect', async () => {
    const { stuck, sweep } = scene();
    const ids = await Promise.all(Array.from({ length: 20 }, () => stuck()));
    const pages = await Promise.all([sweep(), sweep(), sweep({ startedAt: later() })]);
    expect(pages.reduce((sum, each) => sum + each.reEnqueued, 0)).toBe(20);
    for (const id of ids) {
      expect(await itemOf(spine.pool, id)).toMatchObject({ epoch: 2, rescues: 1 });
      expect(await receiptsOf(spine.pool, id)).toHaveLength(1);
    }
  });

  it('are not stopped by a bad item, and name it', async () => {
    const { stuck, sweep } = scene();
    const bad = await stuck(60, `, state = 'REMOVED'`);
    const good = await stuck();
    expect(await sweep()).toMatchObject({
      reEnqueued: 1,
      errors: [expect.stringContaining(`${bad}: `) as string],
    });
    expect(await itemOf(spine.pool, good)).toMatchObject({ epoch: 2 });
  });

  it('are not stopped by an item whose run Temporal can say nothing of, while it answers', async () => {
    const { stuck, engine, sweep } = scene();
    const [bad, good] = [await stuck(), await stuck()];
    async function describeOthers(run: RunRef) {
      if (run.itemId === bad) throw new AppError('engine_unavailable', 'its history is torn');
      return engine.describe(run);
    }
    expect(await sweep({ engine: { ...engine, describe: describeOthers } })).toMatchObject({
      reEnqueued: 1,
      errors: [`${bad}: its history is torn`],
    });
    expect(await itemOf(spine.pool, good)).toMatchObject({ epoch: 2 });
  });

  it('name the first of many errors and count the others', async () => {
    const { stuck, sweep } = scene();
    for (let n = 0; n < 25; n += 1) await stuck(60, `, state = 'REMOVED'`);
    const { errors } = await sweep();
    expect(errors).toHaveLength(21);
    expect(errors.at(-1)).toBe('and 5 more');
  });

  it('say what they did in a line, and what each item had', async () => {
    const lines: { msg: string; sentence?: string }[] = [];
    const write = (line: string): void => void lines.push(JSON.parse(line) as { msg: string });
    const { stuck, sweep } = scene(straight, pino({}, { write }));
    await stuck();
    await sweep();
    expect(lines.map((each) => each.msg)).toEqual(['item rescued', 'stuck items swept']);
    expect(lines[0]?.sentence).toBe('Its run ended without a word (terminated), before the item did.');
  });

  it('of a pipeline that this version does not know fail', async () => {
    const { sweepPage } = createSweep({
      pool: spine.pool,
      engine: createFakeEngine(),
      pipelines: {},
      logger: silent,
      rescuesPerSecond: 1,
    });
    await expect(
      sweepPage({ pipeline: 'unheard', startedAt: new Date().toISOString(), rescuesLeft: 1 }),
    ).rejects.toThrow("no pipeline 'unheard'");
  });
});

describe('open runs', () => {
  const ALIVE = { is: 'alive', wedgedBy: null } as const;

  it('that the list shows although they have ended have no audit entry', async () => {
    const { hand, pipeline, engine, sweep, find } = scene();
    const id = await hand.make();
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    const before = await auditOf(spine.pool, id);
    engine.open = [{ pipeline: pipeline.name, itemId: id, epoch: 1, startedAt: new Date() }];

    expect(await sweep()).toMatchObject({ endedRuns: 0 });
    expect(await auditOf(spine.pool, id)).toEqual(before);
    expect(engine.ended).toEqual([]);
  });

  it('of items that ended more than a minute ago, and of earlier epochs, are asked to end', async () => {
    const { hand, pipeline, engine, sweep, find } = scene();
    const [long, just, rescued] = [await hand.make(), await hand.make(), await hand.make()];
    for (const id of [long, just]) await hand.walk(id, 'read:empty');
    await spine.pool.query(`UPDATE items SET ended_at = now() - interval '61 seconds' WHERE id = $1`, [long]);
    await rescueItem(spine.pool, find, { itemId: rescued, actor: ROOT });
    const run = (itemId: string, epoch = 1) => ({ pipeline: pipeline.name, itemId, epoch, startedAt: new Date() });
    engine.open = [run(long), run(just), run(rescued), run(rescued, 2)];
    engine.status = ALIVE;

    expect(await sweep()).toMatchObject({ endedRuns: 2, reported: 0, examined: 0 });
    expect(engine.ended.map((each) => [each.itemId, each.epoch])).toEqual([
      [long, 1],
      [rescued, 1],
    ]);
  });

  it('that are ended have one audit entry each, however often they are asked, and leave the item as it was', async () => {
    const lines: { msg: string; run?: string }[] = [];
    const write = (line: string): void => void lines.push(JSON.parse(line) as { msg: string });
    const { hand, pipeline, engine, sweep } = scene(straight, pino({}, { write }));
    const id = await hand.make();
    await hand.walk(id, 'read:empty');
    await spine.pool.query(`UPDATE items SET ended_at = now() - interval '61 seconds' WHERE id = $1`, [id]);
    const before = await itemOf(spine.pool, id);
    engine.open = [{ pipeline: pipeline.name, itemId: id, epoch: 1, startedAt: new Date() }];
    engine.status = ALIVE;

    for (const startedAt of [new Date(), later()]) expect(await sweep({ startedAt })).toMatchObject({ endedRuns: 1 });

    const run = `${pipeline.name}:${id}:1`;
    const noted = (await auditOf(spine.pool, id)).filter(({ trigger }) => trigger === 'leftover-run-ended');
    expect(noted).toMatchObject([{ from: before.state, to: before.state, actor: 'system' }]);
    expect(await metadataOf(id, 'leftover-run-ended')).toEqual([{ run }]);
    expect(await itemOf(spine.pool, id)).toEqual({ ...before, version: before.version + 1 });
    expect(lines.filter(({ msg }) => msg === 'leftover run ended')).toMatchObject([{ run }]);
    expect(await eventsOf(spine.pool, id)).toEqual([]);
  });

  it('are ended by later sweeps where one sweep would take too long', async () => {
    const { hand, pipeline, engine, sweep, find } = scene();
    const id = await hand.make();
    await rescueItem(spine.pool, find, { itemId: id, actor: ROOT });
    await spine.pool.query('UPDATE items SET epoch = 600 WHERE id = $1', [id]);
    const open = (epoch: number) => ({ pipeline: pipeline.name, itemId: id, epoch, startedAt: new Date() });
    engine.open = Array.from({ length: 599 }, (_, n) => open(n + 1));
    engine.status = ALIVE;

    expect(await sweep()).toMatchObject({ endedRuns: 500 });
    engine.open = engine.open.slice(500);
    expect(await sweep({ startedAt: later() })).toMatchObject({ endedRuns: 99 });
  });

  it('of items that were deleted here are asked to end, and are not reported', async () => {
    const { hand, pipeline, engine, sweep } = scene();
    const id = await hand.make();
    await hand.walk(id, 'read:empty');
    await inTransaction(spine.pool, (transaction) => deleteItem(transaction, pipeline, { itemId: id, actor: ROOT }));
    engine.open = [{ pipeline: pipeline.name, itemId: id, epoch: 1, startedAt: new Date() }];
    expect(await sweep()).toMatchObject({ endedRuns: 0, reported: 0 });

    engine.status = ALIVE;
    expect(await sweep({ startedAt: later() })).toMatchObject({ endedRuns: 1, reported: 0 });
    expect(engine.ended.map(({ itemId }) => itemId)).toEqual([id]);
  });

  it('without a row are reported once a day, and left alone', async () => {
    const { pipeline, engine, sweep } = scene();
    const stray = () => ({ pipeline: pipeline.name, itemId: randomUUID(), epoch: 1, startedAt: new Date() });
    engine.open = Array.from({ length: 700 }, stray);
    expect(await sweep()).toMatchObject({ reported: 700, endedRuns: 0 });
    for (const startedAt of [later(), later(2)]) await sweep({ startedAt });
    const { rows } = await spine.pool.query<{ kind: string; sentence: string }>(
      'SELECT kind, sentence FROM outbox WHERE pipeline = $1',
      [pipeline.name],
    );
    // Three sweeps see at most two days.
    expect(rows.length).toBeLessThanOrEqual(2);
    expect(rows[0]).toMatchObject({ kind: 'run_without_item' });
    expect(rows[0]?.sentence).toContain(`Temporal runs 700 of ${pipeline.name} that have no item`);
    expect(engine.ended).toEqual([]);
  });
});

async function metadataOf(id: string, trigger: string): Promise<object[]> {
  const { rows } = await spine.pool.query<{ metadata: object }>(
    'SELECT metadata FROM audit WHERE item_id = $1 AND trigger = $2 ORDER BY id',
    [id, trigger],
  );
  return rows.map(({ metadata }) => metadata);
}

async function silence(id: string): Promise<void> {
  await spine.pool.query(`UPDATE items SET beat_at = now() - interval '1 minute' WHERE id = $1`, [id]);
  await spine.pool.query(`UPDATE tasks SET beat_at = now() - interval '1 minute' WHERE item_id = $1`, [id]);
}

/** The beginning of a later sweep. */
function later(minutes = 1): Date {
  return new Date(Date.now() + minutes * 60_000);
}

async function useDeadWorker(engine: FakeEngine): Promise<void> {
  const id = `dead-${randomUUID()}`;
  await registerWorker(spine.pool, { id, name: 'dead', host: 'here', pid: 1, build: '1', pipelines: [] });
  await spine.pool.query('UPDATE workers SET died_at = now() WHERE id = $1', [id]);
  engine.queueStatus.pollers = [{ identity: id, seenAt: new Date() }];
}
