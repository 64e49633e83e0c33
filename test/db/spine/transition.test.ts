import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recordTransition, SYSTEM } from '../../../src/db/spine/transition.js';
import { auditOf, effectsOf, itemOf, trailFaults } from '../../support/facts.js';
import { byHand, useSpine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

const spine = useSpine();

const toChecking = { from: 'READING', to: 'CHECKING', via: 'outcome', trigger: 'by-hand', actor: SYSTEM } as const;

describe('a move', () => {
  it('is made once, with its audit entry, by a mover that saw the row as it is', async () => {
    const id = await byHand(spine.pool, straight).make();
    const expected = { itemId: id, state: 'READING', visit: 1, epoch: 1 };

    expect(await recordTransition(spine.pool, straight, expected, toChecking)).toEqual({
      version: 2,
      visit: 1,
      epoch: 1,
    });
    expect(await recordTransition(spine.pool, straight, expected, toChecking)).toBeNull();
    expect(await auditOf(spine.pool, id)).toHaveLength(2);
    expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it.each([{ state: 'CHECKING' }, { visit: 2 }, { epoch: 2 }])(
    'is not made where the row says otherwise: %j',
    async (other) => {
      const id = await byHand(spine.pool, straight).make();
      const expected = { itemId: id, state: 'READING', visit: 1, epoch: 1, ...other };

      expect(await recordTransition(spine.pool, straight, expected, toChecking)).toBeNull();
      expect(await itemOf(spine.pool, id)).toMatchObject({ state: 'READING', version: 1 });
    },
  );

  it('is not tried if the table does not know it', async () => {
    const id = await byHand(spine.pool, straight).make();
    const leap = { ...toChecking, to: 'WRITING' };

    await expect(
      recordTransition(spine.pool, straight, { itemId: id, state: 'READING', visit: 1, epoch: 1 }, leap),
    ).rejects.toThrow(`'straight' has no move READING → WRITING by outcome`);
  });

  it('is made once when many try it at the same time', async () => {
    const id = await byHand(spine.pool, straight).make();
    const expected = { itemId: id, state: 'READING', visit: 1, epoch: 1 };

    const moved = await Promise.all(
      Array.from({ length: 10 }, () => recordTransition(spine.limited, straight, expected, toChecking)),
    );

    expect(moved.filter((each) => each !== null)).toEqual([{ version: 2, visit: 1, epoch: 1 }]);
    expect(await trailFaults(spine.pool, id)).toEqual([]);
  });

  it('keeps metadata that the database would refuse', async () => {
    const id = await byHand(spine.pool, straight).make();
    const expected = { itemId: id, state: 'READING', visit: 1, epoch: 1 };
    await recordTransition(spine.pool, straight, expected, { ...toChecking, metadata: { name: 'a\u0000' } });

    const { rows } = await spine.pool.query('SELECT metadata FROM audit WHERE item_id = $1 ORDER BY id DESC LIMIT 1', [
      id,
    ]);
    expect(rows).toEqual([{ metadata: { name: 'a\ufffd' } }]);
  });
});

describe('the audit trail', () => {
  it.each([
    ['changed', `UPDATE audit SET actor = 'nobody' WHERE item_id = $1`],
    ['deleted', 'DELETE FROM audit WHERE item_id = $1'],
    ['emptied', 'TRUNCATE audit'],
    ['emptied by the way', 'TRUNCATE items, audit CASCADE'],
  ])('can not be %s, not even by its owner', async (_, statement) => {
    const id = await byHand(spine.pool, straight).make();

    const refused = spine.pool.query(statement, statement.includes('$1') ? [id] : []);

    await expect(refused).rejects.toMatchObject({
      code: '42501',
      message: expect.stringContaining('immutable') as string,
    });
    expect(await auditOf(spine.pool, id)).toMatchObject([{ actor: 'ada' }]);
  });

  it('has no gap after a walk with effects', async () => {
    const hand = byHand(spine.pool, straight);
    const id = await hand.make();
    await hand.walk(id, 'read', 'check:good', 'write');

    expect((await auditOf(spine.pool, id)).map((each) => each.version)).toEqual([1, 2, 3, 4]);
    expect(await effectsOf(spine.pool, id)).toHaveLength(3);
  });
});

describe('the source files', () => {
  const src = resolve(import.meta.dirname, '../../../src');

  function sources(folder: string): string[] {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return entry.name === 'generated' ? [] : sources(path);
      return entry.name.endsWith('.ts') ? [path] : [];
    });
  }

  /** Statements that change items, from UPDATE to where they look for their rows, and Prisma's way to say the same. */
  function writersOfState(text: string): string[] {
    const statements = text.match(/UPDATE\s+"?items"?\b[\s\S]*?(?=\bWHERE\b|\bFROM\b|\bRETURNING\b|`)/gi) ?? [];
    const assigning = statements.filter((each) => /[\s,]"?state"?\s*=/.test(each) || each.includes('assignmentsOf('));
    const byPrisma = text.match(/\bitem\.(update|updateMany|upsert|create|createMany)\b/g) ?? [];
    return [...assigning, ...byPrisma];
  }

  it('change the state of an item in one place only', () => {
    const writers = sources(src).filter((path) => writersOfState(readFileSync(path, 'utf8')).length > 0);

    expect(writers.map((path) => relative(src, path))).toEqual(['db/spine/transition.ts']);
  });

  it('are searched for every way to change it', () => {
    expect(writersOfState('sql`UPDATE items SET version = 1, state = $1 WHERE id = $2`')).toHaveLength(1);
    expect(writersOfState('`UPDATE items i SET state=$1 FROM x`')).toHaveLength(1);
    expect(writersOfState('`UPDATE "items" SET "state" = $1 FROM x`')).toHaveLength(1);
    expect(writersOfState('await prisma.item.updateMany({ data: { state } })')).toHaveLength(1);
    expect(writersOfState('`UPDATE items SET beat_at = now() WHERE id = $1 AND state = $2`')).toHaveLength(0);
    expect(writersOfState('`SELECT 1 FROM items WHERE state = $1`')).toHaveLength(0);
  });
});
