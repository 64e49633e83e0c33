import type pg from 'pg';
import { messageOf } from '../../src/core/errors.js';
import { countLive, countRunningOn } from '../audit/facts.js';
import { type Ledger, openLedger } from '../audit/ledger.js';
import type { Installation } from '../support/installation.js';
import type { Exit } from '../../src/start/embedded/running.js';
import type { Recording } from '../support/recording.js';
import { until } from '../support/until.js';
import { countAttemptsOf, countDecided, countInState, runsLongStage } from './facts.js';
import { createFront, type Front } from './front.js';
import { recordRunning } from './histories.js';
import { startTraffic } from './traffic.js';

export interface RolloutOptions {
  /** Canaries that are kept in flight. */
  canaries: number;
  slowestStageMs: number;
  /** Others use the machine at the same time: that it is too busy for us at times is not counted against the upgrade. */
  isShared: boolean;
  /** After this long everything that is not done counts as stuck. */
  limitMs: number;
  say(line: string): void;
  /** Done after the old version has worked alone and before the first process of the new one starts. */
  beforeNext?(): Promise<void>;
}

/** How long a stopping worker waits for its stages, and a leaving API for its callers. */
const GRACE_MS = 2_000;
const DRAIN_MS = 4_000;
export const SETTINGS = { SHUTDOWN_GRACE_MS: String(GRACE_MS), SHUTDOWN_DRAIN_MS: String(DRAIN_MS) };

/** Begun within this time before its worker is stopped, it can't end in the grace. */
const LONG_STAGE_MS = 6_000;
const JUST_BEGUN_MS = 2_000;

export interface Rollout {
  owner: string;
  isShared: boolean;
  front: Front;
  ledger: Ledger;
  phases: PhaseFacts[];
  /** Of runs that were on their way when the first new worker came. */
  recordings: Recording[];
  exits: Record<string, Exit>;
  /** Where the new API listens; null: it never started. */
  nextUrl: string | null;
  /** Why it did not get to its end. */
  broken: string[];
}

export interface PhaseFacts {
  phase: string;
  /** At its begin. */
  live: number;
  awaiting: number;
  requests: { old: number; next: number };
  decided: number;
  seconds: number;
}

const OWNER = 'upgrade';
const OLD = 'old API';
const NEXT = 'new API';

/** The build that is put in the place of the one that runs. */
export interface NextBuild {
  root: string;
  version: string;
}

/** Puts the build at `root` in the place of the one that runs, step by step, under traffic. */
export async function rollOut(
  installation: Installation,
  { root, version }: NextBuild,
  options: RolloutOptions,
): Promise<Rollout> {
  const { canaries, slowestStageMs, limitMs, say } = options;
  const { pool } = installation;
  const began = Date.now();
  const left = (): number => Math.max(1, began + limitMs - Date.now());
  const front = createFront(await installation.token(OWNER), options.isShared);
  const ledger = openLedger(front);
  const rollout: Rollout = {
    ...{ owner: OWNER, isShared: options.isShared, front, ledger },
    ...{ phases: [], recordings: [], exits: {}, nextUrl: null, broken: [] },
  };
  async function phase(name: string, work: () => Promise<void>): Promise<void> {
    const { seconds } = await inPhase(rollout, pool, name, work);
    say(`${name}: over after ${String(seconds)} s, ${String(await countLive(pool, OWNER))} in flight`);
  }
  const deciding = new AbortController();

  await front.join(OLD, installation.url);
  const decider = ledger.decideUntil(deciding.signal);
  const traffic = startTraffic({
    ...{ front, ledger, pool, owner: OWNER, canaries, slowestStageMs },
    longStageMs: LONG_STAGE_MS,
  });

  async function stopWorker(name: 'worker-1' | 'worker-2'): Promise<void> {
    const isBusy = async () => (await countRunningOn(pool, name)) >= Math.ceil(canaries / 40) || null;
    await until(`${name} is at work`, isBusy, left());
    await until(`${name} has begun what it must cut short`, () => runsLongStage(pool, name, JUST_BEGUN_MS), left());
    rollout.exits[name] = await installation.retire(name);
  }

  try {
    await phase('old alone', async () => {
      await until('all are in flight', async () => (await countLive(pool, OWNER)) >= canaries || null, left());
      const wanted = Math.floor(canaries / 5);
      const areAwaiting = async () => (await countInState(pool, OWNER, 'AWAITING')) >= wanted || null;
      await until('some await a decision', areAwaiting, left());
      rollout.recordings = await recordRunning(installation);
    });
    await options.beforeNext?.();
    await phase('both', async () => {
      const [url] = await Promise.all([
        installation.add('api-next', { root }),
        ...(['worker-3', 'worker-4'] as const).map((name) => installation.add(name, { root })),
      ]);
      rollout.nextUrl = String(url);
      await front.join(NEXT, rollout.nextUrl);
      const held = traffic.held();
      traffic.decide(held.slice(0, Math.ceil(held.length / 2)));
      const areAtWork = async () => (await countAttemptsOf(pool, version)) >= canaries / 2 || null;
      await until('the new workers are at work', areAtWork, left());
      await until(
        'decisions were given',
        async () => (await countDecided(pool, OWNER)) >= held.length / 4 || null,
        left(),
      );
    });
    await phase('old API leaves', async () => {
      const gone = installation.retire('api');
      await front.left(OLD);
      rollout.exits['api'] = await gone;
    });
    await phase('old worker 1 stops', () => stopWorker('worker-1'));
    await phase('old worker 2 stops', () => stopWorker('worker-2'));
    await phase('new alone', async () => {
      await traffic.stop();
      traffic.decide(traffic.held());
      await until('all are done', async () => (await countLive(pool, OWNER)) === 0 || null, left());
    });
  } catch (error) {
    // Time that is up, or a process that does not come or go, ends the rollout and not its report.
    rollout.broken.push(messageOf(error));
  } finally {
    await traffic.stop();
    deciding.abort();
    await decider;
    await front.close();
  }
  return rollout;
}

async function inPhase(
  { front, phases, owner }: Rollout,
  pool: pg.Pool,
  phase: string,
  work: () => Promise<void>,
): Promise<PhaseFacts> {
  const began = Date.now();
  const facts = {
    live: await countLive(pool, owner),
    awaiting: await countInState(pool, owner, 'AWAITING'),
    decided: await countDecided(pool, owner),
    requests: { old: front.countOf(OLD), next: front.countOf(NEXT) },
  };
  await work();
  const { requests } = facts;
  const over: PhaseFacts = {
    ...facts,
    phase,
    requests: { old: front.countOf(OLD) - requests.old, next: front.countOf(NEXT) - requests.next },
    decided: (await countDecided(pool, owner)) - facts.decided,
    seconds: Math.round((Date.now() - began) / 100) / 10,
  };
  phases.push(over);
  return over;
}
