import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ItemAnswer } from '../../src/api/items/item-schema.js';
import type { Claimed, Ending } from '../../src/db/spine/attempt.js';
import { claimTask } from '../../src/db/spine/claim/claim.js';
import { commitAttempt } from '../../src/db/spine/commit.js';
import { canary } from '../../src/domains/canary/table.js';
import { ADMIN, type TestApi, type Who } from './setup.js';

/** What a worker does to a canary, by hand. */
export async function claim(api: TestApi, itemId: string, state: string, stage: string): Promise<Claimed> {
  const { rows } = await api.database.pool.query<{ visit: number; epoch: number }>(
    'SELECT visit, epoch FROM items WHERE id = $1',
    [itemId],
  );
  const { visit, epoch } = rows[0] ?? { visit: 1, epoch: 1 };
  const attempt = {
    ...{ itemId, state, unit: '', stage, visit, epoch, claimId: randomUUID() },
    ...{ token: null, scheduledAt: null, isRetried: false, worker: 'worker-1', places: 1 },
  };
  const answer = await claimTask(api.database.pool, canary, attempt);
  if (answer.is !== 'run') throw new Error(`claim answered ${answer.is}`);
  return answer.claimed;
}

export async function commit(api: TestApi, claimed: Claimed, ending: Ending): Promise<void> {
  const committed = await commitAttempt(api.database.pool, canary, claimed, ending);
  if (committed === 'superseded') throw new Error('refused');
}

/** As if that much time had passed since the item last gave a sign of life. */
export async function age(api: TestApi, itemId: string, by = '1 hour'): Promise<void> {
  const { pool } = api.database;
  await pool.query('UPDATE items SET beat_at = beat_at - $2::interval WHERE id = $1', [itemId, by]);
  await pool.query('UPDATE tasks SET beat_at = beat_at - $2::interval WHERE item_id = $1', [itemId, by]);
}

export async function show(api: TestApi, id: string, as: Who = ADMIN): Promise<ItemAnswer> {
  const response = await api.call({ url: `/api/v1/items/${id}`, as });
  expect(response.statusCode).toBe(200);
  return response.json<ItemAnswer>();
}
