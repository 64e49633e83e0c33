import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeQuiet } from '../../../src/db/recovery/close-breaker.js';
import { inTransaction } from '../../../src/db/postgres/client.js';
import { openBreaker } from '../../../src/db/recovery/breaker.js';
import { walkReleased } from '../../../src/db/spine/pipeline-pause.js';
import { canary } from '../../../src/domains/canary/table.js';
import type { BreakerSettings } from '../../../src/core/breaker.js';
import { ADMIN, ALICE, openApi, submit, type TestApi, VIEWER } from '../setup.js';

const settings: BreakerSettings = {
  share: 0.5,
  failures: 5,
  sample: 50,
  window: '5m',
  probeAfter: '30s',
  probeMax: '10m',
  releasePerSecond: 1,
  releaseMaxPerSecond: 20,
};
const pipelines = { canary: { ...canary, breaker: settings } };

let api: TestApi;
beforeAll(async () => {
  api = await openApi({ pipelines });
});
afterAll(() => api.close());

const REASON = '5 of the last 6 attempts at first failed with NETWORK_ERROR';

async function open(stage = 'first'): Promise<void> {
  const storm = { class: 'NETWORK_ERROR' as const, stage, reason: REASON };
  await inTransaction(api.database.pool, (transaction) => openBreaker(transaction, canary, settings, storm));
}

/** An item whose claim of its first stage was held. */
async function heldItem(): Promise<string> {
  const { id } = await submit(api, ALICE);
  await api.database.pool.query(
    `WITH item AS (UPDATE items SET started = true WHERE id = $1)
     INSERT INTO tasks (item_id, visit, stage) VALUES ($1, 1, 'first')`,
    [id],
  );
  return id;
}

async function diagnosisOf(id: string): Promise<{ reason: string; nextAt: string | null; sentence: string }> {
  const response = await api.call({ url: `/api/v1/items/${id}`, as: ALICE });
  return response.json<{ diagnosis: { reason: string; nextAt: string | null; sentence: string } }>().diagnosis;
}

async function breakers(): Promise<{ state: string; nextPassAt: string | null }[]> {
  const response = await api.call({ url: '/api/v1/breakers', as: VIEWER });
  return response.json<{ breakers: { state: string; nextPassAt: string | null }[] }>().breakers;
}

function close(as: typeof ADMIN, errorClass = 'NETWORK_ERROR', payload: object = { reason: 'it answers again' }) {
  return api.call({ method: 'POST', url: `/api/v1/breakers/canary/${errorClass}/close`, as, payload });
}

describe('an open breaker', () => {
  it('is seen by viewers, in health, in metrics and in the diagnosis of what it holds', async () => {
    const held = await heldItem();
    const { id: elsewhere } = await submit(api, ALICE);
    await open();

    const [breaker] = await breakers();
    expect(breaker).toMatchObject({
      pipeline: 'canary',
      class: 'NETWORK_ERROR',
      state: 'open',
      stages: ['first'],
      reason: REASON,
      perSecond: null,
      closedAt: null,
      waiting: 2,
    });
    expect(await diagnosisOf(held)).toMatchObject({
      reason: 'breaker_open',
      nextAt: breaker?.nextPassAt,
      sentence: expect.stringContaining(REASON) as string,
    });
    expect((await diagnosisOf(elsewhere)).reason).not.toBe('breaker_open');
    const health = (await api.call({ url: '/health/ready' })).json<{ status: string; parts: { breakers: unknown } }>();
    expect(health).toMatchObject({ status: 'degraded', parts: { breakers: { status: 'away' } } });
    const metrics = (await api.call({ url: '/metrics', as: VIEWER })).body;
    expect(metrics).toContain('unstuck_breaker_open{pipeline="canary",class="NETWORK_ERROR"} 1');
    expect(metrics).toContain('unstuck_breaker_open{pipeline="canary",class="LLM_ERROR"} 0');
  });

  it('no longer holds an item whose run has ended, once a place is free: only a rescue can bring it there', async () => {
    await open();
    api.engine.queueStatus = { pollers: [{ identity: 'w', seenAt: new Date() }], backlog: 0, oldestMs: null };
    const held = await heldItem();
    await api.database.pool.query(`UPDATE items SET run_ended_at = now() WHERE id = $1`, [held]);
    // The sweep looks at what holds it first; without an engine's word the row's own comes before.
    await api.database.pool.query(`UPDATE breakers SET next_pass_at = now() - interval '1 ms'`);
    expect((await diagnosisOf(held)).reason).toBe('workflow_closed');
  });

  it('is closed by an admin alone, with a reason, which is kept; what waits is woken', async () => {
    await open();
    const held = await heldItem();
    expect((await close(VIEWER)).statusCode).toBe(403);
    expect((await close(ADMIN, 'NETWORK_ERROR', {})).statusCode).toBe(400);
    expect((await close(ADMIN, 'NO_CLASS')).statusCode).toBe(400);
    expect((await close(ADMIN, 'LLM_ERROR')).statusCode).toBe(404);

    const response = await close(ADMIN);

    expect(response.statusCode).toBe(200);
    expect(response.json()).toMatchObject({ breakers: [{ state: 'closed', nextPassAt: null, perSecond: null }] });
    expect((await diagnosisOf(held)).reason).not.toBe('breaker_open');
    const { rows: actions } = await api.database.pool.query(
      `SELECT action, target, reason, actor FROM operator_actions WHERE target = 'pipeline:canary'`,
    );
    expect(actions).toEqual([
      { action: 'close-breaker', target: 'pipeline:canary', reason: 'it answers again', actor: 'adam' },
    ]);
    await walkReleased(api.database.pool, 50);
    const { rows } = await api.database.pool.query(
      `SELECT wake_after > now() - interval '1 minute' AS wakes FROM items WHERE id = $1`,
      [held],
    );
    expect(rows).toEqual([{ wakes: true }]);
    expect((await api.call({ url: '/health/ready' })).json()).toMatchObject({ parts: { breakers: { status: 'ok' } } });
    expect((await close(ADMIN)).statusCode).toBe(404);
  });

  it('closes by itself when no item comes during the release, and not before', async () => {
    await open();
    const { pool } = api.database;
    await pool.query(
      `UPDATE breakers SET state = 'releasing', per_second = 1, waiting = 0, next_pass_at = now() - interval '20 s'`,
    );
    expect(await closeQuiet(pool, pipelines)).toEqual([]);
    await pool.query(`UPDATE breakers SET next_pass_at = now() - interval '31 s'`);
    const closed = await Promise.all([closeQuiet(pool, pipelines), closeQuiet(pool, pipelines)]);
    expect(closed.flat()).toEqual([{ pipeline: 'canary', class: 'NETWORK_ERROR' }]);
    expect((await breakers())[0]).toMatchObject({ state: 'closed' });
  });

  it('closes by itself when it is open and no item waits for it, and not while one waits', async () => {
    await open();
    const { pool } = api.database;
    await heldItem();
    await pool.query(`UPDATE breakers SET probe_every_ms = 1000, waiting = 0, next_pass_at = now() - interval '31 s'`);
    expect(await closeQuiet(pool, pipelines)).toEqual([]);

    await pool.query('UPDATE items SET ended_at = now() WHERE ended_at IS NULL');

    expect(await closeQuiet(pool, pipelines)).toEqual([{ pipeline: 'canary', class: 'NETWORK_ERROR' }]);
    expect((await api.call({ url: '/health/ready' })).json()).toMatchObject({ parts: { breakers: { status: 'ok' } } });
  });
});
