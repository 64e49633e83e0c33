import { setTimeout as delay } from 'node:timers/promises';
import { type Installation, startInstallation } from '../test/support/installation.js';
import { say } from './compare.js';

/** Two workers with two places each. */
const SETTINGS = { WORKER_MAX_ACTIVITIES: '2' };
const STAGE_MS = 2_000;
const WAITING = 100;

/** Of B's single item while A's items wait, against the same item in an idle installation. */
const GOAL = 3;
/** What is expected of a server that knows no turns. It is no goal. */
const EXPECTED_WITHOUT = 10;

/** A hundred items of three stages on four places take 150 s. An item that has not ended after this time counts as that slow. */
const AT_MOST_MS = 240_000;

/** B waits so long after A's last item, until all of A's items are in Temporal's queue. */
const SETTLE_MS = 3_000;

interface Measured {
  idleMs: number;
  behindMs: number;
  /** From another priority for the owner's last item to the item's end. Null: not measured, because the item has ended by then. */
  raisedMs: number | null;
}

/** One owner has 100 items waiting, and another owner submits one, and then the first owner's last item is given a higher priority, all
 *  through the API: with a server that knows turns between owners and with one that does not. */
export async function benchmark(): Promise<boolean> {
  const fair = await measure(true);
  const without = await measure(false);
  const rows = { 'with turns': fair, without };
  say(
    `one item of another owner behind ${WAITING} waiting items of one owner, ${STAGE_MS / 1_000} s a stage, 4 places`,
  );
  say('server       idle      behind    times     raised    times');
  for (const [name, each] of Object.entries(rows)) say(lineOf(name, each));
  const isReached = timesOf(fair) <= GOAL && (raisedTimesOf(fair) ?? Infinity) <= GOAL;
  say(
    `goal: at most ${GOAL} times with turns, both: ${isReached ? 'reached' : 'MISSED'}; expected without: over ${EXPECTED_WITHOUT}`,
  );
  const result = { waiting: WAITING, stageMs: STAGE_MS, places: 4, fair, without, isReached };
  process.stdout.write(
    `${JSON.stringify({ ...result, times: timesOf(fair), raisedTimes: raisedTimesOf(fair), timesWithout: timesOf(without) })}\n`,
  );
  return isReached;
}

function timesOf({ idleMs, behindMs }: Measured): number {
  return Math.round((10 * behindMs) / idleMs) / 10;
}

function raisedTimesOf({ idleMs, raisedMs }: Measured): number | null {
  return raisedMs === null ? null : Math.round((10 * raisedMs) / idleMs) / 10;
}

function lineOf(name: string, each: Measured): string {
  const seconds = (ms: number | null): string => (ms === null ? '-' : `${(ms / 1_000).toFixed(1)} s`).padEnd(10);
  const times = (count: number | null): string => String(count ?? '-').padEnd(10);
  return (
    `${name.padEnd(13)}${seconds(each.idleMs)}${seconds(each.behindMs)}${times(timesOf(each))}` +
    `${seconds(each.raisedMs)}${times(raisedTimesOf(each))}`
  );
}

async function measure(isFair: boolean): Promise<Measured> {
  say(`starting an installation ${isFair ? 'with' : 'without'} turns`);
  const installation = await startInstallation(SETTINGS, undefined, isFair);
  try {
    const [a, b, admin] = await Promise.all([
      installation.token('a', ['user']),
      installation.token('b', ['user']),
      installation.token('root', ['admin']),
    ]);
    await timeOne(installation, b); // the first item pays for what is loaded once
    const idleMs = await timeOne(installation, b);
    let lastOfA = '';
    for (let n = 0; n < WAITING; n += 1) lastOfA = await submit(installation, a);
    await delay(SETTLE_MS);
    const behindMs = await timeOne(installation, b);
    const raisedMs = isFair ? await timeRaised(installation, admin, lastOfA) : null;
    say(`idle ${idleMs} ms, behind ${WAITING} items ${behindMs} ms, raised ${raisedMs ?? '-'} ms`);
    return { idleMs, behindMs, raisedMs };
  } finally {
    await installation.stop();
  }
}

async function timeOne(installation: Installation, token: string): Promise<number> {
  const begunAt = performance.now();
  return timeUntilDone(installation, token, await submit(installation, token), begunAt);
}

async function timeRaised(installation: Installation, admin: string, id: string): Promise<number> {
  const begunAt = performance.now();
  await call(installation, admin, `/api/v1/items/${id}/reprioritize`, {
    method: 'POST',
    body: JSON.stringify({ priority: 1 }),
  });
  return timeUntilDone(installation, admin, id, begunAt);
}

async function timeUntilDone(installation: Installation, token: string, id: string, begunAt: number): Promise<number> {
  const spentMs = (): number => Math.round(performance.now() - begunAt);
  while (spentMs() < AT_MOST_MS) {
    if ((await stateOf(installation, token, id)) === 'DONE') break;
    await delay(50);
  }
  return spentMs();
}

async function submit(installation: Installation, token: string): Promise<string> {
  const stageMs = [STAGE_MS, STAGE_MS, STAGE_MS];
  const { id } = await call(installation, token, '/api/v1/canaries', {
    method: 'POST',
    body: JSON.stringify({ stageMs }),
  });
  return String(id);
}

async function stateOf(installation: Installation, token: string, id: string): Promise<unknown> {
  return (await call(installation, token, `/api/v1/items/${id}`)).state;
}

/** A loaded API may ask a caller to come again. */
async function call({ url }: Installation, token: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  for (;;) {
    const response = await fetch(`${url}${path}`, { ...init, headers });
    if (response.ok) return (await response.json()) as Answer;
    if (response.status !== 503 && response.status !== 429) throw new Error(`${path}: ${await response.text()}`);
    await delay(200);
  }
}

interface Answer {
  id?: string;
  state?: string;
}
