import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findRunRows, TAKE_STUCK, takeStuck } from '../../../src/db/recovery/stuck.js';
import { findPresence } from '../../../src/db/recovery/queue-facts.js';
import { registerWorker, retireWorker } from '../../../src/db/recovery/workers.js';
import { byHand, FAILURE, useSpine } from '../../support/spine.js';
import { several, straight } from '../../support/tables.js';

const spine = useSpine();

describe('a page of stuck items', () => {
  it('is read from the index of live rows alone, however many items have ended', async () => {
    const name = `many-${randomUUID()}`;
    await spine.pool.query(
      `INSERT INTO items (id, pipeline, owner, state, started, beat_at, ended_at)
       SELECT gen_random_uuid(), $1, 'ada', 'READING', true, now() - interval '1 hour', CASE WHEN n > 50 THEN now() END
       FROM generate_series(1, 20000) n`,
      [name],
    );
    await spine.pool.query('ANALYZE items');
    const client = await spine.pool.connect();
    try {
      await client.query('BEGIN');
      const values = [name, new Date().toISOString(), 100, [], 15_000];
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${TAKE_STUCK}`,
        values,
      );
      const nodes = rows.flatMap((row) => nodesOf(row['QUERY PLAN'][0].Plan));
      const onItems = nodes.filter((each) => each['Relation Name'] === 'items' && each['Node Type'] !== 'ModifyTable');
      expect(onItems.map((each) => each['Node Type'])).not.toContain('Seq Scan');
      // The page is joined to its rows by their ids, or to all live ones, whichever the planner finds cheaper.
      const used = nodes.map((each) => each['Index Name'] ?? '').filter((each) => each.startsWith('items_'));
      expect(used.filter((each) => !/^items_(live|live_by_state|live_by_id|pkey)$/.test(each))).toEqual([]);
      const live = nodes.find((each) => /^items_live/.test(each['Index Name'] ?? ''));
      expect(live?.['Actual Rows']).toBe(50);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it('shows the running task, the waiting task and why it waits, and the hold of the pipeline', async () => {
    const pipeline = { ...several, name: `facts-${randomUUID()}` };
    const hand = byHand(spine.pool, pipeline);
    const id = await hand.make();
    await hand.walk(id, 'extract');
    await hand.commit(await hand.claimed(id, { stage: 'enrich' }), { is: 'error', error: FAILURE, retryInMs: 5_000 });
    await spine.pool.query(`UPDATE items SET beat_at = now() - interval '1 minute' WHERE id = $1`, [id]);
    await spine.pool.query(
      `INSERT INTO holds (pipeline, kind, key, until, reason, set_by) VALUES ($1, 'pause', '', 'infinity', 'an upgrade', 'root')`,
      [pipeline.name],
    );

    const startedAt = new Date(Date.now() + 3_600_000).toISOString();
    const [row, ...others] = await takeStuck(spine.pool, pipeline, { startedAt, limit: 10 });

    expect(others).toEqual([]);
    expect(row).toMatchObject({ id, epoch: 1, version: 1, visit: 1, owner: 'ada' });
    expect(row?.facts).toMatchObject({
      item: { pipeline: pipeline.name, state: 'WORKING', started: true, pausedUntil: null },
      running: null,
      waiting: { stage: 'enrich', attempt: 1, error: { class: 'NETWORK_ERROR', message: FAILURE.message } },
      hold: { kind: 'pause', until: 'infinity', reason: 'an upgrade' },
    });
    // The stamp is the sweep's beginning, though that lies ahead of the database's clock, so that no page takes the
    // item twice.
    expect(await takeStuck(spine.pool, pipeline, { startedAt, limit: 10 })).toEqual([]);
  });

  it('begins with the items that were examined longest ago', async () => {
    const pipeline = { ...straight, name: `order-${randomUUID()}` };
    const hand = byHand(spine.pool, pipeline);
    const ids: string[] = [];
    for (const examined of [`now() - interval '1 minute'`, 'NULL', `now() - interval '1 hour'`]) {
      const id = await hand.make();
      ids.push(id);
      await spine.pool.query(
        `UPDATE items SET beat_at = now() - interval '1 minute', examined_at = ${examined} WHERE id = $1`,
        [id],
      );
    }
    const taken: (string | undefined)[] = [];
    const startedAt = new Date(Date.now() + 60_000).toISOString();
    for (let n = 0; n < 3; n += 1) taken.push((await takeStuck(spine.pool, pipeline, { startedAt, limit: 1 }))[0]?.id);
    expect(taken).toEqual([ids[1], ids[2], ids[0]]);
  });
});

describe('the rows of open runs', () => {
  it('give the item’s epoch and whether it has ended', async () => {
    const hand = byHand(spine.pool, straight);
    const [live, ended, nowhere] = [await hand.make(), await hand.make(), randomUUID()];
    await hand.walk(ended, 'read:empty');
    const rows = await findRunRows(spine.pool, [live, ended, nowhere]);
    expect(rows.get(live)).toEqual({ itemId: live, epoch: 1, endedForMs: null });
    expect(rows.get(ended)).toMatchObject({ endedForMs: expect.any(Number) as number });
    expect(rows.has(nowhere)).toBe(false);
  });
});

describe('a worker', () => {
  it.each([
    ['that was just seen is present', '', true],
    ['that was not seen for long is not', `seen_at = now() - interval '1 minute'`, false],
    ['that was seen to be gone is not', 'seen_gone_at = now()', false],
    ['that died is not', 'died_at = now()', false],
    ['that signed off is not', 'stopped_at = now()', false],
  ])('%s', async (_, change, isPresent) => {
    const id = randomUUID();
    await registerWorker(spine.pool, { id, name: 'w', host: 'here', pid: 1, build: '1', pipelines: [] });
    if (change) await spine.pool.query(`UPDATE workers SET ${change} WHERE id = $1`, [id]);
    expect((await findPresence(spine.pool, [id, 'stranger'])).get(id)).toMatchObject({ isPresent });
    await retireWorker(spine.pool, id);
    expect(await findPresence(spine.pool, ['stranger'])).toEqual(new Map());
  });
});

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  Plans?: PlanNode[];
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
