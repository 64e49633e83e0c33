import { callerOf, type Caller } from '../e2e/caller.js';
import { effectsOf } from '../support/facts.js';
import type { Installation } from '../support/installation.js';
import { until } from '../support/until.js';
import { type AfterOutage, auditOutage, checkpointOf } from './audit.js';

export interface OutageOptions {
  awayMs: number;
  /** Of each kind. */
  items: number;
  say(line: string): void;
}

/** What the API said while Temporal was away, and what had become of everything afterwards. */
export interface OutageReport extends AfterOutage {
  awayMs: number;
  health: string;
  /** By kind, the reasons that its items gave at the end of the outage. */
  reasons: Record<Kind, string[]>;
  /** From the end of the outage until everything was done. */
  doneAfterMs: number;
}

/** Where an item is when Temporal goes: in a stage that the outage interrupts; in one that ends meanwhile, so that it is then
 *  between two stages; in a fan-out; waiting for its owner; not even submitted. */
const KINDS = ['inStage', 'between', 'spread', 'awaiting', 'submitted'] as const;
export type Kind = (typeof KINDS)[number];

/** Enough for a checkpoint or two before Temporal goes. */
const HEAD_START_MS = 2_500;

/** Longer than the SDK lets a stage go on whose beats nobody takes: some seconds more than its heartbeat timeout, up to twenty. */
const LONG_MS = 30_000;

/** Ends while Temporal is away. */
const BETWEEN_MS = 5_000;

const DONE_WITHIN_MS = 120_000;

/** Brings items to every place, takes Temporal away for a while, submits and decides meanwhile, and lets it come back. */
export async function keepTemporalAway(installation: Installation, options: OutageOptions): Promise<OutageReport> {
  const { awayMs, items, say } = options;
  const caller = await callerOf(installation, 'ada');
  const some = (canary: object) => Promise.all(Array.from({ length: items }, () => caller.submit(canary)));
  const ids: Record<Kind, string[]> = {
    inStage: await some({ stageMs: [0, LONG_MS, 0] }),
    between: [],
    spread: await some({ stageMs: [2_000, 0, 0], units: 12 }),
    awaiting: await some({ decision: true }),
    submitted: [],
  };
  await Promise.all(ids.awaiting.map((id) => caller.reaches(id, 'AWAITING')));
  await until('every long stage has kept a checkpoint, and some units are done', async () => {
    const kept = await Promise.all(ids.inStage.map((id) => checkpointOf(installation.pool, id)));
    const done = await Promise.all(ids.spread.map((id) => effectsOf(installation.pool, id)));
    return kept.every((ms) => ms >= HEAD_START_MS - 1_000) && done.every((effects) => effects.length > 1);
  });
  ids.between = await some({ stageMs: [0, BETWEEN_MS, 0] });
  await until('the last ones are in their stage', async () => {
    const done = await Promise.all(ids.between.map((id) => effectsOf(installation.pool, id)));
    return done.every((effects) => effects.length === 1);
  });

  await installation.takeAway('temporal');
  const goneAt = Date.now();
  say(`Temporal is away; ${String(items)} items of each kind`);
  try {
    ids.submitted = await some({ stageMs: [200, 200, 200] });
    const decided = await decide(caller, ids.awaiting);
    if (decided.some((status) => status !== 200)) throw new Error(`decisions were answered ${decided.join(', ')}`);
    await until('it has been away for long enough', () => Date.now() - goneAt >= awayMs, awayMs + 60_000);
    const health = String((await caller.get('/health/ready')).body['status']);
    const reasons = await reasonsOf(caller, ids);
    const finished = await finishedTasks(installation);
    installation.release('temporal');
    const backAt = Date.now();
    say(`Temporal may come back after ${String(backAt - goneAt)} ms; health said ${health}`);
    const everybody = Object.values(ids).flat();
    await Promise.all(everybody.map((id) => caller.reaches(id, 'DONE', DONE_WITHIN_MS)));
    const after = await auditOutage(installation.pool, { everybody, longOnes: ids.inStage, longMs: LONG_MS, finished });
    return { awayMs: backAt - goneAt, health, reasons, doneAfterMs: Date.now() - backAt, ...after };
  } finally {
    installation.release('temporal');
  }
}

function decide(caller: Caller, ids: readonly string[]): Promise<number[]> {
  const one = async (id: string) => (await caller.post(`/api/v1/items/${id}/decisions`, { outcome: 'approve' })).status;
  return Promise.all(ids.map(one));
}

async function reasonsOf(caller: Caller, ids: Record<Kind, string[]>): Promise<OutageReport['reasons']> {
  const entries = KINDS.map(async (kind) => {
    const answers = await Promise.all(ids[kind].map((id) => caller.get(`/api/v1/items/${id}`)));
    return [kind, [...new Set(answers.map(({ body }) => body.diagnosis?.reason ?? 'none'))]] as const;
  });
  return Object.fromEntries(await Promise.all(entries)) as OutageReport['reasons'];
}

/** What was done before Temporal came back, as `item stage unit`: none of it may be run again. */
async function finishedTasks({ pool }: Installation): Promise<string[]> {
  const { rows } = await pool.query<{ task: string }>(
    `SELECT concat_ws(' ', item_id, stage, unit) AS task FROM tasks WHERE status = 'done'`,
  );
  return rows.map((each) => each.task);
}
