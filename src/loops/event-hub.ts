import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import {
  type FeedEvent,
  feedHorizon,
  type FeedPosition,
  isBehind,
  type ItemPulse,
  readFeed,
  readPulses,
} from '../db/reads/event-feed.js';

/** Who hears of moves: all, or those of one owner or one pipeline. */
export interface FeedListener {
  owner: string | null;
  pipeline: string | null;
  send(event: FeedEvent): void;
  /** It was away for too long, or in another database: what it missed is not told. */
  reset(): void;
}

export interface Following {
  position(): FeedPosition;
  stop(): void;
}

export interface EventHub {
  follow(listener: FeedListener, after: FeedPosition | null): Promise<Following>;
  /** Tells once a second how far the item is. */
  watch(itemId: string, tell: (pulse: ItemPulse) => void): () => void;
  close(): Promise<void>;
}

/** One look a second serves everybody who listens, however many they are. */
const EVERY_MS = 1_000;
const PAGE = 500;

/** Events that one who comes back is told; further back it is better to load the list anew. */
const MISSED_TOLD = 2_000;

interface Attached extends FeedListener {
  at: FeedPosition;
}

export function createEventHub({ pool, logger }: { pool: pg.Pool; logger: Logger }): EventHub {
  const attached = new Set<Attached>();
  const watchers = new Map<string, Set<(pulse: ItemPulse) => void>>();
  const stop = new AbortController();
  /** Those who are being told what they missed: the loop must go on for them too. */
  let arriving = 0;
  let position: FeedPosition | null = null;
  let running: Promise<void> | undefined;

  function isNeeded(): boolean {
    return !stop.signal.aborted && attached.size + watchers.size + arriving > 0;
  }
  function ensureRunning(): void {
    running ??= loop().finally(() => {
      running = undefined;
      if (isNeeded()) ensureRunning();
    });
  }
  async function loop(): Promise<void> {
    while (isNeeded()) {
      await turn();
      await delay(EVERY_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
    position = null;
  }
  async function turn(): Promise<void> {
    try {
      if (attached.size > 0) await tellMoves();
      if (watchers.size > 0) await tellPulses();
    } catch (error) {
      logger.warn({ err: error }, 'events could not be read');
    }
  }
  async function tellMoves(): Promise<void> {
    for (let isFull = true; isFull && attached.size > 0;) {
      const read = await readFeed(pool, await hubPosition(), { limit: PAGE });
      // From here to the end of the round nothing waits: who attaches does so before it or behind it.
      position = read.position;
      for (const listener of attached) tell(listener, read.events, read.position);
      isFull = read.isFull;
    }
  }
  async function tellPulses(): Promise<void> {
    for (const pulse of await readPulses(pool, [...watchers.keys()])) {
      for (const each of watchers.get(pulse.id) ?? []) each(pulse);
    }
  }

  /** The first who comes fixes it; whoever else was looking for one meanwhile takes that. */
  async function hubPosition(): Promise<FeedPosition> {
    if (position) return position;
    const horizon = await feedHorizon(pool);
    position ??= horizon;
    return position;
  }

  /** Tells what was missed, until there is nothing between the listener and the hub; then attaches in the same breath. */
  async function catchUp(listener: FeedListener, after: FeedPosition): Promise<Attached> {
    const follower: Attached = { ...listener, at: after };
    let told = 0;
    for (;;) {
      const target = await hubPosition();
      if (!isBehind(follower.at, target)) break;
      if (told >= MISSED_TOLD) {
        listener.reset();
        follower.at = target;
        break;
      }
      const { owner } = listener;
      const read = await readFeed(pool, follower.at, { limit: PAGE, owner, upTo: target });
      tell(follower, read.events, read.position);
      told += read.events.length;
    }
    attached.add(follower);
    return follower;
  }

  async function arrive(listener: FeedListener, after: FeedPosition | null): Promise<Attached> {
    const horizon = await feedHorizon(pool);
    if (after === null) return catchUp(listener, horizon);
    // Nobody was ever told a position that this database has not reached: it is another one.
    if (!isBehind(horizon, after)) return catchUp(listener, after);
    listener.reset();
    return catchUp(listener, horizon);
  }

  return {
    async follow(listener, after) {
      arriving += 1;
      try {
        const follower = await arrive(listener, after);
        return {
          position: () => follower.at,
          stop: () => {
            attached.delete(follower);
          },
        };
      } finally {
        arriving -= 1;
        ensureRunning();
      }
    },
    watch(itemId, tellPulse) {
      const own = watchers.get(itemId) ?? new Set();
      watchers.set(itemId, own.add(tellPulse));
      ensureRunning();
      return () => {
        own.delete(tellPulse);
        if (own.size === 0) watchers.delete(itemId);
      };
    },
    async close() {
      stop.abort();
      await running;
    },
  };
}

function tell(listener: Attached, events: readonly FeedEvent[], upTo: FeedPosition): void {
  for (const event of events) {
    const isNew = isBehind(listener.at, event);
    const isIts = listener.owner === null || listener.owner === event.owner;
    if (isNew && isIts && (listener.pipeline === null || listener.pipeline === event.pipeline)) listener.send(event);
  }
  if (isBehind(listener.at, upTo)) listener.at = upTo;
}
