import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { countLive } from '../audit/facts.js';
import { type Asked, type Entry, inLanes, type Ledger } from '../audit/ledger.js';
import type { Front } from './front.js';

/** People at work: canaries are submitted, looked at and decided while the versions change under them. */
export interface Traffic {
  /** Canaries whose decision is kept back. */
  held(): Entry[];
  /** Those are decided from now on, as all that are submitted from now on. */
  decide(held: readonly Entry[]): void;
  /** No more canaries; comes back when the last one is accepted. */
  stop(): Promise<void>;
}

export interface TrafficOptions {
  front: Front;
  ledger: Ledger;
  pool: pg.Pool;
  owner: string;
  /** Kept in flight. */
  canaries: number;
  slowestStageMs: number;
  /** A stage that no worker lets end before it stops. */
  longStageMs: number;
}

/** Between two looks at how many are in flight, and between two at an item: a steady stream, and not a test of the machine. */
const FILL_EVERY_MS = 200;
const LOOK_EVERY_MS = 40;

export function startTraffic(options: TrafficOptions): Traffic {
  const { front, ledger, pool, owner, canaries } = options;
  const closing = new AbortController();
  let holds = true;
  let count = 0;

  async function submit(): Promise<void> {
    const asked = canaryNumber((count += 1), options);
    await ledger.submit(asked);
    const entry = ledger.entries.find((each) => each.asked === asked);
    if (entry && holds && asked.decision) entry.lookAt = Infinity;
  }

  async function fill(): Promise<void> {
    while (!closing.signal.aborted) {
      const missing = canaries - (await countLive(pool, owner));
      await inLanes(
        Array.from({ length: Math.max(0, missing) }, (_, at) => at),
        async () => {
          if (!closing.signal.aborted) await submit();
        },
      );
      await delay(FILL_EVERY_MS);
    }
  }

  async function lookAround(): Promise<void> {
    for (let at = 0; !closing.signal.aborted; at += 1) {
      const { id } = ledger.entries.at(-1 - (at % canaries)) ?? {};
      if (id) await front.look(`/api/v1/items/${id}`);
      await delay(LOOK_EVERY_MS);
    }
  }

  const going = Promise.all([fill(), lookAround(), lookAround()]);
  return {
    held: () => ledger.entries.filter(({ lookAt }) => lookAt === Infinity),
    decide(held) {
      holds = false;
      for (const entry of held) entry.lookAt = 0;
    },
    async stop() {
      closing.abort();
      await going;
    },
  };
}

/** Of ten canaries one has units, three await a decision, and two have a stage that a stopping worker must cut short. */
function canaryNumber(count: number, { slowestStageMs, longStageMs }: TrafficOptions): Asked {
  const kind = count % 10;
  const tenths = (n: number): number => Math.round((slowestStageMs * (1 + (n % 10))) / 10);
  const isLong = kind === 4 || kind === 9;
  return {
    stageMs: [tenths(count * 7), isLong ? longStageMs : tenths(count * 3), 200],
    units: kind === 0 ? 4 : 0,
    decision: kind >= 1 && kind <= 3,
  };
}
