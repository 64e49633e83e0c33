import type pg from 'pg';
import { inLanes } from '../audit/ledger.js';
import { type Caller, callerOf } from '../e2e/caller.js';
import type { Installation } from '../support/installation.js';
import { until } from '../support/until.js';
import { breakerOf, countOf, type Failures, failuresOf, startsBySecond } from './storm-facts.js';

export interface StormOptions {
  items: number;
  /** What is down comes back when the wait between two that are let through has grown to this. */
  probeEveryMs: number;
  /** Of each wait; only a hung run gets there. */
  limitMs: number;
  say(line: string): void;
}

export interface StormReport extends Outage, Failures, Release {
  /** Of one item, which has three tries. */
  mostOfAnItem: number;
  /** From its opening until what was down is back: for so long others were let through in vain. */
  openInVainMs: number;
  done: number;
  effects: number;
  failedItems: number;
  rescues: number;
  receipts: number;
  workers: number;
  breakerEvents: number;
}

interface Outage {
  /** What an owner and an operator were shown meanwhile. */
  shown: { item: unknown; health: unknown };
  outageSeconds: number;
}

interface Release {
  secondsToDone: number;
  secondsToClosed: number;
  startsBySecond: number[];
  peakPerSecond: number;
  steadyPerSecond: number;
}

/** Takes away what one stage needs, sends all items against it, brings it back, and waits until all are done and the breaker is
 *  closed. */
export async function runStorm(installation: Installation, options: StormOptions): Promise<StormReport> {
  const { pool } = installation;
  const admin = await callerOf(installation, 'root', ['admin']);
  const outage = await admin.submit({ decision: true });
  await admin.reaches(outage, 'AWAITING');
  const suffered = await suffer(pool, admin, outage, options);
  const healedAt = new Date();
  await admin.post(`/api/v1/items/${outage}/cancel`, { reason: 'the model is back' });
  const backAt = new Date();
  const released = await recover(pool, healedAt, options);
  const failures = await failuresOf(pool);
  return {
    ...suffered,
    ...failures,
    ...released,
    mostOfAnItem: await countOf(pool, 'SELECT max(errors) FROM tasks'),
    openInVainMs: backAt.getTime() - failures.openedAt.getTime(),
    done: await countOf(pool, DONE),
    effects: await countOf(
      pool,
      `SELECT count(*) FROM canary_effects WHERE stage = 'second' AND item_id <> '${outage}'`,
    ),
    failedItems: await countOf(pool, `SELECT count(*) FROM items WHERE state = 'FAILED' AND end_reason <> 'CANCELLED'`),
    rescues: await countOf(pool, 'SELECT sum(rescues) FROM items'),
    receipts: await countOf(pool, 'SELECT count(*) FROM receipts'),
    workers: await countOf(pool, `SELECT count(DISTINCT worker) FROM attempts WHERE stage = 'second'`),
    breakerEvents: await countOf(pool, `SELECT count(*) FROM outbox WHERE kind LIKE 'breaker%'`),
  };
}

const DONE = `SELECT count(*) FROM items WHERE state = 'DONE'`;

async function suffer(pool: pg.Pool, admin: Caller, outage: string, options: StormOptions): Promise<Outage> {
  const { items, probeEveryMs, limitMs, say } = options;
  const began = Date.now();
  const ids = await submitAgainst(admin, outage, items);
  say(`${String(items)} items are submitted, and what their second stage needs is down`);
  await until('the breaker is open', async () => (await breakerOf(pool))?.state === 'open', limitMs);
  const held = `SELECT count(*) FROM tasks WHERE stage = 'second' AND status = 'waiting'`;
  await until('all have come to what is down', async () => (await countOf(pool, held)) === items, limitMs);
  say('the breaker is open, and holds all of them');
  const wasTried = async () => ((await breakerOf(pool))?.probeEveryMs ?? 0) >= probeEveryMs;
  await until('some were let through in vain', wasTried, limitMs);
  const item = await until('an item says so', () => heldItem(admin, ids[0] ?? ''), limitMs);
  const health = await admin.get('/health/ready');
  return {
    shown: { item, health: health.body },
    outageSeconds: (Date.now() - began) / 1_000,
  };
}

/** Canaries whose second stage fails for as long as that item lives. */
async function submitAgainst(admin: Caller, outage: string, items: number): Promise<string[]> {
  const faults = [{ stage: 'second', kind: 'failWhile', item: outage, class: 'LLM_ERROR' }];
  const ids: string[] = [];
  await inLanes(
    Array.from({ length: items }, (_, at) => at),
    async () => void ids.push(await admin.submit({ faults })),
  );
  return ids;
}

async function heldItem(admin: Caller, id: string): Promise<object | null> {
  const { body } = await admin.get(`/api/v1/items/${id}`);
  return body.diagnosis?.reason === 'breaker_open' ? { state: body.state, diagnosis: body.diagnosis } : null;
}

async function recover(pool: pg.Pool, healedAt: Date, { items, limitMs, say }: StormOptions): Promise<Release> {
  const since = (): number => (Date.now() - healedAt.getTime()) / 1_000;
  say('what was down is back');
  await until('all are done', async () => (await countOf(pool, DONE)) === items, limitMs);
  const secondsToDone = since();
  say(`all are done after ${secondsToDone.toFixed(1)} s`);
  await until('the breaker is closed', async () => (await breakerOf(pool))?.state === 'closed', limitMs);
  const starts = await startsBySecond(pool, healedAt);
  const paced = starts.filter((n) => n > 0);
  return {
    secondsToDone,
    secondsToClosed: since(),
    startsBySecond: starts,
    peakPerSecond: Math.max(...starts),
    steadyPerSecond: paced.reduce((sum, n) => sum + n, 0) / paced.length,
  };
}
