import type { Fault } from '../../core/canary-settings.js';
import type { Log } from '../../../../start/embedded/running.js';
import { StartError } from '../../../../start/embedded/start-error.js';
import { assembleCrew } from './crew.js';
import type { DrillApi } from './drill-api.js';
import type { DrillDatabase, RowsSeen } from './drill-database.js';
import { STRIKES } from './strikes.js';
import { lookUntil, mustSee, type Wait } from './look-until.js';
import { isLost, type ItemSeen, type RoundKind, type RoundSeen, type Struck } from './verdict.js';
import { guard, wake } from './worker-process.js';

export interface RoundDeps {
  api: DrillApi;
  database: DrillDatabase;
  options: { items: number; stageMs: number };
  /** The name of this machine, as its workers register it. */
  host: string;
  /** How much longer than its own work a step may take before it counts as stuck. */
  patienceMs: number;
  say: Log;
  signal: AbortSignal;
}

/** The pause between two looks. The measured times come from the database and do not depend on it. */
const LOOK_EVERY_MS = 100;

/** A zombie tries its commit as soon as it is woken. A busy machine may need this long. */
const REFUSED_WITHIN_MS = 15_000;

/** Only the first canary has this fault. If every canary froze its worker, no worker would be left to take over. */
const FREEZE_IN_COMMIT: Fault = { stage: 'second', attempt: 1, kind: 'freezeInCommit' };

/** Submits canaries, strikes the worker that runs most of them in their second stage, and watches until they have
 *  ended. */
export async function runRound(deps: RoundDeps, kind: RoundKind): Promise<RoundSeen> {
  const crew = await assembleCrew(deps, kind);
  const pids = kind === 'kill' ? [] : crew.map(({ pid }) => pid);
  const guarded = pids.length > 0 ? guard(pids) : undefined;
  const ids: string[] = [];
  let isOver = false;
  try {
    await submit(deps, kind, ids);
    const rows = await awaitSecondStage(deps, ids);
    const struck = await STRIKES[kind](deps, { crew, rows });
    deps.say(sentenceOf(kind, struck, rows));
    const lockWaitMs = await awaitEnds(deps, ids);
    isOver = true;
    wake(pids);
    if (kind !== 'kill') await awaitRefusals(deps, ids, struck);
    const frozenItem = kind === 'freezeInCommit' ? (ids[0] ?? null) : null;
    const goneSeenAt = await deps.database.goneSeenAt(struck.worker.id);
    return { ...struck, kind, frozenItem, lockWaitMs, goneSeenAt, items: await readItems(deps, ids) };
  } finally {
    if (!isOver) await callOff(deps, ids, pids);
    wake(pids);
    guarded?.release();
  }
}

async function submit({ api, options }: RoundDeps, kind: RoundKind, ids: string[]): Promise<void> {
  const stageMs = [options.stageMs, options.stageMs, options.stageMs];
  for (let n = 0; n < options.items; n += 1) {
    const faults = kind === 'freezeInCommit' && n === 0 ? [FREEZE_IN_COMMIT] : [];
    ids.push(await api.submitCanary({ stageMs, faults }));
  }
}

/** In its second stage, a canary has a finished stage, which must not run again. */
async function awaitSecondStage(deps: RoundDeps, ids: string[]): Promise<RowsSeen[]> {
  const sentence =
    'drill: the canaries do not get to their second stage. Ask npm run doctor what is wrong with the installation.';
  return mustSee(waitOf(deps, deps.options.stageMs + deps.patienceMs), sentence, async () => {
    const rows = await deps.database.listItems(ids);
    if (rows.length < ids.length) {
      throw new StartError('drill: the API uses another database than the settings say. Set DATABASE_URL to the same.');
    }
    if (rows.some(({ endedAt }) => endedAt !== null)) {
      throw new StartError('drill: a canary was done before all were in their second stage. Raise --stage-ms.');
    }
    return rows.every(isPastFirst) ? rows : null;
  });
}

function isPastFirst({ attempts }: RowsSeen): boolean {
  const isFinished = attempts.some(({ stage, result }) => stage === 'first' && result === 'done');
  return isFinished && attempts.some(({ stage, result }) => stage !== 'first' && result === 'running');
}

function sentenceOf(kind: RoundKind, { worker }: Struck, rows: RowsSeen[]): string {
  const did = { kill: 'killed', freeze: 'froze', freezeInCommit: 'saw frozen inside its commit' }[kind];
  const on = rows.filter(({ attempts }) =>
    attempts.some((each) => each.result === 'running' && each.worker === worker.id),
  );
  return `${did} ${worker.name} (pid ${worker.pid}), which ran ${on.length} of ${rows.length} canaries`;
}

/** Waits until all canaries have ended, or should have. Returns the longest time that a session was seen waiting for a
 *  lock. */
async function awaitEnds(deps: RoundDeps, ids: string[]): Promise<number> {
  const { database, options, patienceMs } = deps;
  let lockWaitMs = 0;
  await lookUntil(waitOf(deps, 3 * options.stageMs + patienceMs), async () => {
    lockWaitMs = Math.max(lockWaitMs, await database.lockWaitMs());
    const rows = await database.listItems(ids);
    return rows.every(({ endedAt }) => endedAt !== null) ? rows : null;
  });
  return Math.round(lockWaitMs);
}

/** Waits until the commit of every lost attempt was refused, or should have been. */
async function awaitRefusals(deps: RoundDeps, ids: string[], struck: Struck): Promise<void> {
  await lookUntil(waitOf(deps, REFUSED_WITHIN_MS), async () => {
    const rows = await deps.database.listItems(ids);
    const lost = rows.filter(({ attempts }) => attempts.some((attempt) => isLost(attempt, struck)));
    return lost.every(({ refusedTo }) => refusedTo.includes(struck.worker.id)) ? rows : null;
  });
}

/** State and effects come from the API, because the drill checks the answers that callers get. */
async function readItems({ api, database }: RoundDeps, ids: string[]): Promise<ItemSeen[]> {
  const rows = await database.listItems(ids);
  const items: ItemSeen[] = [];
  for (const row of rows) items.push({ ...row, ...(await api.findCanary(row.id)) });
  return items;
}

/** A cancelled canary can't freeze its worker any more. While a canary could not be cancelled, frozen workers are woken
 *  again and again. */
async function callOff({ api, options, say }: RoundDeps, ids: string[], pids: number[]): Promise<void> {
  const results = await Promise.allSettled(ids.map((id) => api.cancel(id)));
  if (results.every(({ status }) => status === 'fulfilled')) return;
  say('some canaries could not be cancelled; they end by themselves');
  if (pids.length === 0) return;
  const wait = { withinMs: 2 * options.stageMs, everyMs: LOOK_EVERY_MS, signal: new AbortController().signal };
  await lookUntil(wait, () => {
    wake(pids);
    return null;
  });
}

function waitOf({ signal }: RoundDeps, withinMs: number): Wait {
  return { withinMs, everyMs: LOOK_EVERY_MS, signal };
}
