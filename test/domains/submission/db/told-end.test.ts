import { describe, expect, it } from 'vitest';
import { inTransaction } from '../../../../src/db/postgres/client.js';
import { recordTransition } from '../../../../src/db/spine/transition.js';
import { submission } from '../../../../src/domains/submission/table.js';
import { itemOf } from '../../../support/facts.js';
import { submitted } from '../support/skills.js';
import { byHand, ROOT, useSpine } from '../../../support/spine.js';
import { REJECTIONS, waysToEnd } from '../support/submission-ends.js';

const spine = useSpine();
const EMAIL = 'ada@example.org';

async function toldOf(id: string): Promise<object[]> {
  const { rows } = await spine.pool.query<object>(
    `SELECT id, mail_to, owner, sentence, payload FROM outbox WHERE item_id = $1 AND kind = 'item_ended' ORDER BY id`,
    [id],
  );
  return rows;
}

describe('whoever left an address with a submission', () => {
  it.each([...REJECTIONS, 'published'] as const)('is told of its end, once: %s', async (way) => {
    const id = await submitted(spine.pool, { email: EMAIL, skillName: `by-${way}` });
    await waysToEnd(spine.pool)[way](id);

    const { state } = await itemOf(spine.pool, id);
    const trigger = way === 'published' ? 'publish-complete' : way;
    expect(await toldOf(id)).toEqual([
      {
        ...{ id: `item_ended:${id}:1`, mail_to: EMAIL, owner: null },
        ...{ sentence: `It ended in ${state} (${trigger}).`, payload: { state, trigger } },
      },
    ]);
  });

  it('is not told before, nor of a move that did not happen', async () => {
    const id = await submitted(spine.pool, { email: EMAIL });
    const hand = byHand(spine.pool, submission);
    await hand.walk(id, 'checkVendor:other', 'fetch', 'scanTier1:pass', 'judgeTier2:concerns');
    expect(await toldOf(id)).toEqual([]);

    const { state, visit, epoch } = await itemOf(spine.pool, id);
    const move = { from: state, to: 'REJECTED', via: 'cancel', trigger: 'cancelled', actor: ROOT } as const;
    const undone = inTransaction(spine.pool, async (transaction) => {
      await recordTransition(transaction, submission, { itemId: id, state, visit, epoch }, move);
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    const elsewhere = { itemId: id, state, visit, epoch: epoch + 1 };
    expect(await recordTransition(spine.pool, submission, elsewhere, move)).toBeNull();
    expect(await toldOf(id)).toEqual([]);
  });

  it('is nobody where no address was left', async () => {
    const id = await submitted(spine.pool);
    await waysToEnd(spine.pool).cancelled(id);
    expect(await toldOf(id)).toEqual([]);
  });
});
