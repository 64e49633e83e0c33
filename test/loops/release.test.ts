import { describe, expect, it } from 'vitest';
import { releaseDue } from '../../src/loops/dispatcher.js';
import { useSpine } from '../support/spine.js';

const spine = useSpine();

/** Live items with a run, marked with a hold that is gone. */
async function makeHeld(count: number): Promise<void> {
  await spine.pool.query(
    `INSERT INTO items (id, pipeline, owner, state, started, held_by, entered_at, beat_at)
     SELECT gen_random_uuid(), 'straight', 'ada', 'READING', true, 'pause', now(), now() FROM generate_series(1, $1)`,
    [count],
  );
}

async function countHeld(): Promise<number> {
  const { rows } = await spine.pool.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM items WHERE held_by IS NOT NULL',
  );
  return rows[0]?.count ?? NaN;
}

describe('items whose hold is gone', () => {
  it('are released as fast as wakes are sent, so that the wakes of others do not stand behind all of them', async () => {
    await makeHeld(900);
    expect(await releaseDue(spine)).toBe(200);
    expect(await releaseDue(spine)).toBe(200);
    expect(await releaseDue(spine)).toBe(0);
    expect(await countHeld()).toBe(500);

    await spine.pool.query('UPDATE items SET wake_after = NULL');
    expect(await releaseDue(spine)).toBe(200);
    expect(await countHeld()).toBe(300);
  });
});
