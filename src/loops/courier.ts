import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { type CourierPolicy, redeliveryDecision } from '../core/redelivery.js';
import { AppError } from '../core/errors.js';
import {
  dropUnconfigured,
  markDelivered,
  markFailed,
  routeEvents,
  type TakenDelivery,
  takeDueDeliveries,
} from '../db/recovery/deliveries.js';
import type { ChannelName, Channels, Letter, Notice, Notifier } from '../ports/notifier.js';
import type { Metrics } from '../telemetry/metrics.js';
import { startLoop } from './loop.js';

/** Words the end of a pipeline's item for whom it concerns; null: there is nothing more to say. */
export type WriteLetter = (pool: pg.Pool, itemId: string) => Promise<Letter | null>;

export interface CourierDeps {
  pool: pg.Pool;
  channels: Channels;
  /** By pipeline; without one, a person is sent the sentence. */
  letters?: Readonly<Record<string, WriteLetter>>;
  policy: CourierPolicy & { timeoutMs: number };
  logger: Logger;
  metrics: Pick<Metrics, 'deliveries'>;
}

export interface Courier {
  /** What is being delivered gets a moment to end. */
  stop(): Promise<void>;
}

/** An event is routed, and its delivery taken, within this; one cheap index look-up a turn. */
const EVERY_MS = 1_000;

const PAGE = 100;

/** Deliveries of one channel at once: enough for a burst of alerts, few enough for a small receiver. */
const AT_ONCE = 10;

/** How long a delivery is its courier's beyond the time limit: for the marking, while the database is away for a moment. */
const LEASE_MARGIN_MS = 45_000;

/** A shutdown waits no longer for a receiver; a request cut off may have been taken, and then comes again with the same id. */
const STOP_PATIENCE_MS = 3_000;

/** Between two tries to write down what was delivered. */
const MARK_EVERY_MS = 1_000;

/** Tells everybody of what is in the outbox. Any number of copies may run: each delivery is taken by one of them. It is made
 *  once, unless its courier dies (or loses the database for the whole lease) between sending and writing it down: then
 *  again, with the same id. Every channel has a loop of its own, so that a slow one delays nobody else. */
export function startCourier(deps: CourierDeps): Courier {
  const stopping = new AbortController();
  const { logger } = deps;
  const names = Object.keys(deps.channels) as ChannelName[];
  const loops = [
    startLoop({ everyMs: EVERY_MS, name: 'courier', logger, turn: async () => (await routeDue(deps)) === PAGE }),
    ...names.map((name) =>
      startLoop({
        everyMs: EVERY_MS,
        name: `courier-${name}`,
        logger,
        turn: async () => (await deliverDue(deps, name, stopping.signal)) === AT_ONCE,
      }),
    ),
  ];
  return {
    async stop() {
      const timer = setTimeout(() => {
        stopping.abort();
      }, STOP_PATIENCE_MS);
      await Promise.all(loops.map((loop) => loop.stop()));
      clearTimeout(timer);
    },
  };
}

/** Says of a page of events where they go. Returns how many. */
export async function routeDue({ pool, channels }: Pick<CourierDeps, 'pool' | 'channels'>): Promise<number> {
  const named = Object.entries(channels) as [ChannelName, Notifier][];
  await dropUnconfigured(
    pool,
    named.map(([name]) => name),
  );
  return routeEvents(pool, (notice) => named.filter(([, each]) => each.reaches(notice)).map(([name]) => name), PAGE);
}

/** Delivers what is due on one channel. Returns how many it took. */
export async function deliverDue(deps: CourierDeps, name: ChannelName, stopping: AbortSignal): Promise<number> {
  const channel = deps.channels[name];
  if (!channel) return 0;
  const askedAt = performance.now();
  const leaseMs = deps.policy.timeoutMs + LEASE_MARGIN_MS;
  const taken = await takeDueDeliveries(deps.pool, { channel: name, limit: AT_ONCE, leaseMs });
  // The answer took so long that the lease would not outlive a delivery: another may be at it by then.
  if (performance.now() - askedAt > LEASE_MARGIN_MS / 2) return 0;
  // All of them, whatever becomes of one: the loop must not go on, or end, while some are under way.
  const ends = await Promise.allSettled(taken.map((delivery) => deliver(deps, channel, delivery, stopping)));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return taken.length;
}

async function deliver(
  deps: CourierDeps,
  channel: Notifier,
  delivery: TakenDelivery,
  stopping: AbortSignal,
): Promise<void> {
  const { pool, policy } = deps;
  // Taken once more after the last try: whoever made that one died of it, or with it.
  if (delivery.tries > policy.tries) {
    await fail(deps, delivery, new AppError('delivery_failed', 'the last try was not seen to end'));
    return;
  }
  try {
    const notice = await withLetter(deps, delivery.notice);
    await withinTime(stopping, policy.timeoutMs, (signal) => channel.deliver(notice, signal));
  } catch (error) {
    await fail(deps, delivery, error);
    return;
  }
  deps.metrics.deliveries.inc({ channel: delivery.channel, result: 'delivered' });
  await persist(deps, stopping, () => markDelivered(pool, delivery));
}

/** Written when it is sent: what ended an item may have been stored by the very statement that raised the event. */
async function withLetter({ pool, letters = {} }: CourierDeps, notice: Notice): Promise<Notice> {
  const { mailTo, pipeline, itemId } = notice;
  if (mailTo === null || pipeline === null || itemId === null) return notice;
  const letter = await letters[pipeline]?.(pool, itemId);
  return letter ? { ...notice, letter } : notice;
}

/** A timer of our own: Node 20 collects a signal made of `AbortSignal.timeout` while somebody waits for it, and it never comes. */
async function withinTime(
  stopping: AbortSignal,
  ms: number,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const limit = new AbortController();
  const stop = (): void => limit.abort(stopping.reason);
  const timer = setTimeout(
    () => limit.abort(new DOMException(`no answer within ${String(ms)} ms`, 'TimeoutError')),
    ms,
  );
  stopping.addEventListener('abort', stop);
  if (stopping.aborted) stop();
  try {
    await work(limit.signal);
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', stop);
  }
}

/** A failure that can't be written down needs no care: the lease ends, and it is tried again. */
async function fail(deps: CourierDeps, delivery: TakenDelivery, error: unknown): Promise<void> {
  const { channel, notice, tries } = delivery;
  const waitMs = redeliveryDecision(deps.policy, { tries, error }, Math.random());
  const facts = { err: error, event: notice.id, channel, tries };
  deps.metrics.deliveries.inc({ channel, result: waitMs === null ? 'given_up' : 'retried' });
  if (waitMs === null) deps.logger.error(facts, 'notification given up');
  else deps.logger.warn({ ...facts, waitMs }, 'notification not delivered');
  await markFailed(deps.pool, delivery, { error: error instanceof Error ? error.message : String(error), waitMs });
}

/** What was sent must be written down, or it is sent again: so this does not take the first no for an answer. */
async function persist({ logger }: CourierDeps, stopping: AbortSignal, mark: () => Promise<void>): Promise<void> {
  const until = performance.now() + LEASE_MARGIN_MS;
  for (;;) {
    try {
      await mark();
      return;
    } catch (error) {
      if (stopping.aborted || performance.now() > until) throw error;
      logger.warn({ err: error }, 'a delivery could not be written down; trying again');
      await delay(MARK_EVERY_MS);
    }
  }
}
