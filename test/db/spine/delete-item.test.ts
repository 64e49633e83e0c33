import { describe, expect, it } from 'vitest';
import { claimTask } from '../../../src/db/spine/claim/claim.js';
import { cancelItem } from '../../../src/db/spine/control.js';
import { deleteItem } from '../../../src/db/spine/delete-item.js';
import { nextStep } from '../../../src/db/spine/next-step.js';
import { auditOf, lastMetadataOf } from '../../support/facts.js';
import { ADA, byHand, doneWith, findIn, ROOT, useSpine } from '../../support/spine.js';
import { resting, straight } from '../../support/tables.js';

const spine = useSpine();

async function rowsOf(id: string): Promise<Record<string, number>> {
  const tables = ['items', 'tasks', 'attempts', 'decisions'];
  const counts = await Promise.all(
    tables.map(async (table) => {
      const key = table === 'items' ? 'id' : 'item_id';
      const { rows } = await spine.pool.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM ${table} WHERE ${key} = $1`,
        [id],
      );
      return [table, rows[0]?.n ?? 0] as const;
    }),
  );
  return Object.fromEntries(counts);
}

describe('an item that is deleted', () => {
  it('is gone with its tasks and attempts, and the audit says who deleted it and why', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const attempt = await hand.claimed(id);
    await hand.commit(attempt, doneWith(attempt));
    await cancelItem(spine.pool, findIn(straight), { itemId: id, actor: ROOT });

    expect(await deleteItem(spine.pool, straight, { itemId: id, actor: ROOT, reason: 'by its owner' })).toBe(true);

    expect(await rowsOf(id)).toEqual({ items: 0, tasks: 0, attempts: 0, decisions: 0 });
    expect((await auditOf(spine.pool, id)).at(-1)).toMatchObject({ trigger: 'deleted', actor: 'root' });
    expect(await lastMetadataOf(spine.pool, id)).toEqual({ reason: 'by its owner' });
  });

  it('ends a run that asks for it, and a claim that comes late', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    const late = await hand.attempt(id);
    await cancelItem(spine.pool, findIn(straight), { itemId: id, actor: ROOT });
    await deleteItem(spine.pool, straight, { itemId: id, actor: ROOT });

    expect(await claimTask(spine.pool, straight, late)).toMatchObject({ is: 'superseded' });
    expect(await nextStep(spine.pool, straight, { itemId: id, epoch: 1 })).toEqual({ do: 'end', why: 'superseded' });
  });

  it('may rest, because no run works on it', async () => {
    const id = await byHand(spine.pool, resting).make();

    expect(await deleteItem(spine.pool, resting, { itemId: id, actor: ADA })).toBe(true);
    expect(await rowsOf(id)).toMatchObject({ items: 0 });
  });

  it('is refused while a run may work on it', async () => {
    const id = await byHand(spine.pool, straight).make();

    await expect(deleteItem(spine.pool, straight, { itemId: id, actor: ROOT })).rejects.toMatchObject({
      code: 'state_conflict',
    });
    expect(await rowsOf(id)).toMatchObject({ items: 1 });
  });

  it('may be deleted twice', async () => {
    const id = await byHand(spine.pool, resting).make();
    await deleteItem(spine.pool, resting, { itemId: id, actor: ADA });

    expect(await deleteItem(spine.pool, resting, { itemId: id, actor: ADA })).toBe(false);
  });
});
