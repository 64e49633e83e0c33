import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.js';
import { until } from '../support/until.js';
import { type Caller, callerOf } from './caller.js';

const ITEMS = 60;

/** Shorter than by default, so that what must be waited for is soon over; the counts are the real ones. */
const SETTINGS = { BREAKER_PROBE_AFTER: '4s', BREAKER_PROBE_MAX: '8s' };

/** Half of the last fifty attempts. */
const FAILURES_TO_OPEN = 25;

/** The fastest pace before it closes: 1, 2, 4, 8, 16; with 32 it would pass 20. */
const FASTEST_PACE = 16;

let installation: Installation;
let admin: Caller;
beforeAll(async () => {
  installation = await startInstallation(SETTINGS);
  admin = await callerOf(installation, 'root', ['admin']);
}, 180_000);
afterAll(() => installation.stop());

async function numberOf(text: string): Promise<number> {
  const { rows } = await installation.pool.query<{ n: number }>(text);
  return rows[0]?.n ?? 0;
}

async function stateOfBreaker(): Promise<string | undefined> {
  const { rows } = await installation.pool.query<{ state: string }>(
    `SELECT state FROM breakers WHERE class = 'LLM_ERROR'`,
  );
  return rows[0]?.state;
}

/** Attempts at the stage that began in each second since the outage ended. */
async function startsBySecond(since: Date): Promise<number[]> {
  const { rows } = await installation.pool.query<{ n: number }>(
    `SELECT count(a.id)::int AS n
     FROM generate_series($1::timestamptz, (SELECT max(started_at) FROM attempts WHERE stage = 'second'), '1 second') AS s (at)
     LEFT JOIN attempts a ON a.stage = 'second' AND a.started_at >= s.at AND a.started_at < s.at + interval '1 second'
     GROUP BY s.at ORDER BY s.at`,
    [since],
  );
  return rows.map((each) => each.n);
}

it('an outage spends few tries, holds everybody else at no cost, and is followed by a release at a limited pace', async () => {
  const outage = await admin.submit({ decision: true });
  await admin.reaches(outage, 'AWAITING');
  const faults = [{ stage: 'second', kind: 'failWhile', item: outage, class: 'LLM_ERROR' }];
  const ids = await Promise.all(Array.from({ length: ITEMS }, () => admin.submit({ faults })));

  await until('the breaker is open', async () => (await stateOfBreaker()) === 'open');
  await until('everybody has come to what is down', async () => {
    const there = await numberOf(`SELECT count(*)::int AS n FROM tasks WHERE stage = 'second' AND status = 'waiting'`);
    return there === ITEMS;
  });
  await until(
    'one was let through',
    async () => (await numberOf(`SELECT probe_every_ms AS n FROM breakers`)) === 8_000,
  );
  const item = await until('an item says so', async () => {
    const { body } = await admin.get(`/api/v1/items/${ids[0] ?? ''}`);
    return body.diagnosis?.reason === 'breaker_open' ? body : null;
  });
  expect(item).toMatchObject({ state: 'SECOND' });
  const health = await admin.get('/health/ready');
  expect(health.body).toMatchObject({ status: 'degraded', parts: { breakers: { status: 'away' } } });
  const failures = await numberOf(`SELECT count(*)::int AS n FROM attempts WHERE result = 'error'`);
  const most = await numberOf(`SELECT max(errors)::int AS n FROM tasks`);

  const healedAt = new Date();
  await admin.post(`/api/v1/items/${outage}/cancel`, { reason: 'the model is back' });
  await until(
    'all are done',
    async () => (await numberOf(`SELECT count(*)::int AS n FROM items WHERE state = 'DONE'`)) === ITEMS,
    120_000,
  );
  await until('the breaker is closed', async () => (await stateOfBreaker()) === 'closed', 120_000);

  const starts = await startsBySecond(healedAt);
  const paced = starts.filter((n) => n > 0);
  const peak = Math.max(...starts);
  const steady = paced.reduce((sum, n) => sum + n, 0) / paced.length;
  const { rows } = await installation.pool.query<{ worker: string }>(
    `SELECT DISTINCT worker FROM attempts WHERE stage = 'second'`,
  );
  console.log(
    `${String(failures)} failures in all, at most ${String(most)} of an item; starts a second after healing: ${starts.join(' ')}; ` +
      `peak ${String(peak)} over steady ${steady.toFixed(1)} is ${(peak / steady).toFixed(1)}; workers: ${String(rows.length)}`,
  );
  // What opened it, what was in flight then, and the probes.
  expect(failures).toBeLessThanOrEqual(FAILURES_TO_OPEN + ITEMS / 2);
  expect(most).toBeLessThan(3);
  expect(
    await numberOf(`SELECT count(*)::int AS n FROM items WHERE state = 'FAILED' AND end_reason <> 'CANCELLED'`),
  ).toBe(0);
  expect(await numberOf(`SELECT sum(rescues)::int AS n FROM items`)).toBe(0);
  expect(peak).toBeLessThanOrEqual(2 * FASTEST_PACE);
  expect(rows.length).toBe(2);
  expect(await numberOf(`SELECT count(*)::int AS n FROM canary_effects WHERE stage = 'second'`)).toBe(ITEMS + 1);
  expect(await numberOf(`SELECT count(*)::int AS n FROM outbox WHERE kind LIKE 'breaker%'`)).toBe(2);
}, 300_000);
