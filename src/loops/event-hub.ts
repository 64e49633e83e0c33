import type pg from 'pg';
import type { Logger } from 'pino';
import { feedHorizon, isBehind, readFeed, readPulses } from '../db/reads/event-feed.js';
import type { EventHub, FeedEvent, FeedListener, FeedPosition, ItemPulse } from '../ports/event-hub.js';
import { startLoop } from './loop.js';

/** One look a second serves all listeners, however many there are. */
const EVERY_MS = 1_000;
const PAGE = 500;

/** The missed events that a returning listener is sent; a client that missed more had better load its list again. */
const MISSED_TOLD = 2_000;

export interface RunningEventHub extends EventHub {
  stop(): Promise<void>;
}

/** Reads moves and pulses for the listeners of this process. A turn without listeners reads nothing. */
export function startEventHub({ pool, logger }: { pool: pg.Pool; logger: Logger }): RunningEventHub {
  const feed = createFeed(pool);
  const pulses = createPulses(pool);
  const loop = startLoop({
    everyMs: EVERY_MS,
    name: 'event hub',
    logger,
    async turn() {
      await feed.tellMoves();
      await pulses.tellPulses();
    },
  });
  return { follow: feed.follow, watch: pulses.watch, stop: () => loop.stop() };
}

interface Follower extends FeedListener {
  at: FeedPosition;
}

interface Feed extends Pick<EventHub, 'follow'> {
  tellMoves(): Promise<void>;
}

function createFeed(pool: pg.Pool): Feed {
  const followers = new Set<Follower>();
  /** Listeners that are still being sent what they missed. */
  let arriving = 0;
  /** Up to here the followers have been told; null while there are none. */
  let position: FeedPosition | null = null;

  /** Sends all followers the moves since the last turn, page by page. */
  async function tellMoves(): Promise<void> {
    // The next listener starts at the horizon of its time, so that nobody reads the moves of an hour without listeners.
    if (followers.size + arriving === 0) position = null;
    for (let isFull = true; isFull && followers.size > 0;) {
      const read = await readFeed(pool, await feedPosition(), { limit: PAGE });
      // Nothing waits from here to the end of the round, so a listener joins either before it or after it.
      position = read.position;
      for (const follower of followers) tell(follower, read.events, read.position);
      isFull = read.isFull;
    }
  }

  /** The first caller sets the position; a caller that was reading the horizon at the same time takes the first
   *  caller's. */
  async function feedPosition(): Promise<FeedPosition> {
    if (position) return position;
    const horizon = await feedHorizon(pool);
    position ??= horizon;
    return position;
  }

  /** Sends the missed moves to the listener. The listener joins the others in the same step in which it reaches their
   *  position, because a wait in between would lose moves. */
  async function join(listener: FeedListener, after: FeedPosition): Promise<Follower> {
    const follower: Follower = { ...listener, at: after };
    let told = 0;
    for (;;) {
      const target = await feedPosition();
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
    followers.add(follower);
    return follower;
  }

  async function follow(listener: FeedListener, after: FeedPosition | null) {
    arriving += 1;
    try {
      const follower = await join(listener, await beginningOf(pool, listener, after));
      return { position: () => follower.at, stop: () => void followers.delete(follower) };
    } finally {
      arriving -= 1;
    }
  }
  return { follow, tellMoves };
}

/** Where the listener's feed begins. A position ahead of the horizon comes from another database, so the feed starts
 *  over. */
async function beginningOf(pool: pg.Pool, listener: FeedListener, after: FeedPosition | null): Promise<FeedPosition> {
  const horizon = await feedHorizon(pool);
  if (after === null) return horizon;
  if (!isBehind(horizon, after)) return after;
  listener.reset();
  return horizon;
}

function tell(follower: Follower, events: readonly FeedEvent[], upTo: FeedPosition): void {
  for (const event of events) if (isBehind(follower.at, event) && concerns(event, follower)) follower.send(event);
  if (isBehind(follower.at, upTo)) follower.at = upTo;
}

function concerns(event: FeedEvent, { owner, pipeline }: FeedListener): boolean {
  return (owner === null || owner === event.owner) && (pipeline === null || pipeline === event.pipeline);
}

interface Pulses extends Pick<EventHub, 'watch'> {
  tellPulses(): Promise<void>;
}

function createPulses(pool: pg.Pool): Pulses {
  const watchers = new Map<string, Set<(pulse: ItemPulse) => void>>();

  async function tellPulses(): Promise<void> {
    if (watchers.size === 0) return;
    for (const pulse of await readPulses(pool, [...watchers.keys()])) {
      for (const send of watchers.get(pulse.id) ?? []) send(pulse);
    }
  }
  function watch(itemId: string, send: (pulse: ItemPulse) => void): () => void {
    const own = watchers.get(itemId) ?? new Set();
    watchers.set(itemId, own.add(send));
    return () => {
      own.delete(send);
      if (own.size === 0) watchers.delete(itemId);
    };
  }
  return { watch, tellPulses };
}
