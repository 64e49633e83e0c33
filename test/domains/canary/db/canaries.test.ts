import { expect, it } from 'vitest';
import { createPrisma } from '../../../../src/db/postgres/prisma.js';
import { canaryRow, findCanary } from '../../../../src/domains/canary/db/canaries.js';
import { canary } from '../../../../src/domains/canary/table.js';
import { byHand, useSpine } from '../../../support/spine.js';

const spine = useSpine();

it('deletes the row of a canary with its item, although the Prisma schema declares no relation', async () => {
  const settings = { stageMs: [1, 2, 3], units: 2, decision: true, faults: [] };
  const id = await byHand(spine.pool, canary).make({ row: canaryRow(settings) });
  const prisma = createPrisma(spine.pool);
  expect(await findCanary(prisma, id)).toMatchObject({ ...settings, id, owner: 'ada', state: canary.start });

  await spine.pool.query('DELETE FROM items WHERE id = $1', [id]);

  const { rows } = await spine.pool.query('SELECT 1 FROM canaries WHERE id = $1', [id]);
  expect(rows).toEqual([]);
  expect(await findCanary(prisma, id)).toBeNull();
});
