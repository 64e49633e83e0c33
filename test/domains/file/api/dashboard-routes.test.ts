import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileDomain } from '../../../../src/domains/file/domain.js';
import { routesAddedBy } from '../../../api/documented-routes.js';
import { ALICE, BOB, openApi, type TestApi } from '../../../api/setup.js';
import { hoursAgo, makeFile } from '../support/files.js';

it('documents the routes of the dashboard, all of which ask for a token', async () => {
  const { all, open } = await routesAddedBy(fileDomain);
  expect(all).toEqual(
    expect.arrayContaining([
      'get /api/v2/uploads/dashboard',
      'get /api/v2/uploads/orphans',
      'get /api/v2/uploads/stuck',
      'post /api/v2/uploads/orphans/scan',
      'post /api/v2/uploads/stuck/retry-all',
      'post /api/v2/uploads/stuck/{fileId}/retry',
    ]),
  );
  expect(open.filter((route) => /dashboard|orphans|stuck/.test(route))).toEqual([]);
});

describe('figures that the dashboard keeps', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await openApi();
  });
  afterAll(() => api.close());

  async function stuckOf(as = ALICE): Promise<number> {
    return (await api.call({ url: '/api/v2/uploads/dashboard', as })).json<{ stuckFiles: number }>().stuckFiles;
  }

  it('are the caller’s own, and are seen anew after the caller’s own action', async () => {
    const { pool } = api.database;
    for (const owner of ['alice', 'bob']) {
      await makeFile(pool, { owner, state: 'queued', createdAgo: hoursAgo(2), movedAgo: hoursAgo(1) });
    }
    expect([await stuckOf(), await stuckOf(BOB)]).toEqual([1, 1]);
    await api.call({ method: 'POST', url: '/api/v2/uploads/stuck/retry-all', as: ALICE });
    expect([await stuckOf(), await stuckOf(BOB)]).toEqual([0, 1]);
  });

  it('are seen anew when a worker has moved a file', async () => {
    const { pool } = api.database;
    const carol = { sub: 'carol' };
    const { id } = await makeFile(pool, {
      owner: 'carol',
      state: 'queued',
      createdAgo: hoursAgo(2),
      movedAgo: hoursAgo(1),
    });
    expect(await stuckOf(carol)).toBe(1);
    await pool.query('UPDATE items SET beat_at = now() WHERE id = $1', [id]);
    expect(await stuckOf(carol)).toBe(1);
    await pool.query('UPDATE items SET updated_at = now() WHERE id = $1', [id]);
    expect(await stuckOf(carol)).toBe(0);
  });
});
