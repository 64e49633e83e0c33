import { expect, it } from 'vitest';
import { beatTask, keepCheckpoint } from '../../../src/db/spine/beat.js';
import { readsOf } from '../../support/reads.js';
import { byHand, useSpine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

const spine = useSpine();

/** Enough that every statement has the plan it keeps: the server makes that at the sixth time. */
const ITEMS = 20;

it('claims, beats, checkpoints and commits go by primary keys alone, also where the tables were empty when the statements were planned', async () => {
  const { scanned, found } = await readsOf(spine, async (pool) => {
    const hand = byHand(spine.pool, straight);
    for (let n = 0; n < ITEMS; n += 1) {
      const id = await hand.make();
      const claimed = await byHand(pool, straight).claimed(id);
      await beatTask(pool, claimed, { n });
      await keepCheckpoint(pool, claimed, n);
      await byHand(pool, straight).finish(claimed);
    }
  });
  expect(Object.keys(found).sort()).toEqual(['items_pkey', 'tasks_pkey']);
  expect(scanned).toBe(0);
});
