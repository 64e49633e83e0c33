import { expect, it } from 'vitest';
import { removeBatch } from '../../../../src/db/recovery/retention.js';
import { fileKeeps } from '../../../../src/domains/file/db/keeps.js';
import { useSpine } from '../../../support/spine.js';
import { makeFile } from '../support/files.js';

const spine = useSpine();
const DAY_MS = 86_400_000;

async function endedBatch(daysAgo: number): Promise<string> {
  const { rows } = await spine.pool.query<{ id: string }>(
    `INSERT INTO upload_batches (id, owner, status, files, unconfirmed, created_at, expires_at, ended_at)
     SELECT gen_random_uuid(), 'ada', 'expired', 1, 0, at, at, at FROM (SELECT now() - $1 * interval '1 day' AS at) ended RETURNING id`,
    [daysAgo],
  );
  return rows[0]?.id ?? '';
}

it('retention deletes batches that ended long ago and have no file left, and no others', async () => {
  const [old, recent] = [await endedBatch(91), await endedBatch(89)];
  const file = await makeFile(spine.pool, { state: 'ready' });
  await spine.pool.query(
    `UPDATE upload_batches SET status = 'completed', ended_at = now() - interval '91 days' WHERE id = (SELECT batch_id FROM files WHERE id = $1)`,
    [file.id],
  );
  const [part] = fileKeeps;
  if (!part) throw new Error('files keep nothing');

  expect(await removeBatch(spine.limited, part, part.keptMs({ cleanUp: { batchesKeptMs: 90 * DAY_MS } }), 10)).toBe(1);

  const { rows } = await spine.pool.query<{ id: string }>('SELECT id FROM upload_batches');
  const left = rows.map(({ id }) => id);
  expect(left).not.toContain(old);
  expect(left).toContain(recent);
  expect(left).toHaveLength(2);
});
