import { beforeAll, describe, expect, it } from 'vitest';
import type { Pipeline } from '../../../src/core/pipeline.js';
import { inTransaction } from '../../../src/db/postgres/client.js';
import { exhaustItem } from '../../../src/db/recovery/give-up.js';
import { cancelItem, retryItem } from '../../../src/db/spine/control.js';
import { recordTransition, SYSTEM } from '../../../src/db/spine/transition.js';
import { itemOf } from '../../support/facts.js';
import { byHand, FAILURE, findIn, ROOT, useSpine } from '../../support/spine.js';
import { straight } from '../../support/tables.js';

const spine = useSpine();
const EMAIL = 'ada@example.org';

/** A sample table whose items may have an address, in a table of this test. */
const states = { ...straight.states, CANCELLED: { ends: 'failed', reopens: straight.start } } as const;
const addressed: Pipeline = { ...straight, states, tells: { table: 'addresses', column: 'email' } };
const find = findIn(addressed);

beforeAll(async () => {
  await spine.pool.query('CREATE TABLE addresses (id uuid PRIMARY KEY, email text)');
});

function hand() {
  return byHand(spine.pool, addressed);
}

async function make(email: string | null = EMAIL): Promise<string> {
  const id = await hand().make();
  await spine.pool.query('INSERT INTO addresses (id, email) VALUES ($1, $2)', [id, email]);
  return id;
}

async function toldOf(id: string): Promise<object[]> {
  const { rows } = await spine.pool.query<object>(
    `SELECT id, mail_to, owner, sentence, payload FROM outbox WHERE item_id = $1 AND kind = 'item_ended' ORDER BY id`,
    [id],
  );
  return rows;
}

/** The ways in which an item ends, by the trigger of its last move. */
const WAYS: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
  'write-done': (id) => hand().walk(id, 'read', 'check:good', 'write'),
  'check-bad': (id) => hand().walk(id, 'read', 'check:bad'),
  'read-failed': async (id) => hand().commit(await hand().claimed(id), { is: 'spent', error: FAILURE }),
  cancelled: (id) => cancelItem(spine.pool, find, { itemId: id, actor: ROOT }),
  async 'stuck-exhausted'(id) {
    const { epoch, version } = await itemOf(spine.pool, id);
    const cause = { reason: 'worker_died', sentence: 'worker-1 died.' };
    await exhaustItem(spine.pool, find, { itemId: id, actor: SYSTEM, seen: epoch, seenVersion: version, cause });
  },
  poison: (id) => hand().poison(id),
};

describe('whoever left an address with an item', () => {
  it.each(Object.entries(WAYS))('is told of its end, once: %s', async (trigger, end) => {
    const id = await make();
    await end(id);

    const { state, endedAt } = await itemOf(spine.pool, id);
    expect(endedAt).not.toBeNull();
    expect(await toldOf(id)).toEqual([
      {
        ...{ id: `item_ended:${id}:1`, mail_to: EMAIL, owner: null },
        ...{ sentence: `It ended in ${state} (${trigger}).`, payload: { state, trigger } },
      },
    ]);
  });

  it('is not told before, nor of a move that did not happen', async () => {
    const id = await make();
    await hand().walk(id, 'read');
    expect(await toldOf(id)).toEqual([]);

    const { state, visit, epoch } = await itemOf(spine.pool, id);
    const move = { from: state, to: 'CANCELLED', via: 'cancel', trigger: 'cancelled', actor: ROOT } as const;
    const undone = inTransaction(spine.pool, async (transaction) => {
      await recordTransition(transaction, addressed, { itemId: id, state, visit, epoch }, move);
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    const elsewhere = { itemId: id, state, visit, epoch: epoch + 1 };
    expect(await recordTransition(spine.pool, addressed, elsewhere, move)).toBeNull();
    expect(await toldOf(id)).toEqual([]);
  });

  it('is nobody where no address was left', async () => {
    const id = await make(null);
    await cancelItem(spine.pool, find, { itemId: id, actor: ROOT });
    expect(await toldOf(id)).toEqual([]);
  });

  it('is told again when a reopened item ends', async () => {
    const id = await make();
    await cancelItem(spine.pool, find, { itemId: id, actor: ROOT });
    await retryItem(spine.pool, find, { itemId: id, actor: ROOT });
    await cancelItem(spine.pool, find, { itemId: id, actor: ROOT });
    expect(await toldOf(id)).toMatchObject([{ id: `item_ended:${id}:1` }, { id: `item_ended:${id}:2` }]);
  });
});
