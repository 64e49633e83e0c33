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
import { tellGathered } from '../db/recovery/gather-notices.js';
import type { ChannelName, Channels, Notice, Notifier, WriteLetter } from '../ports/notifier.js';
import { runWithinTime } from '../ports/within-time.js';
import type { Metrics } from '../telemetry/metrics.js';
import { startLoop } from './loop.js';

export interface CourierDeps {
  pool: pg.Pool;
  channels: Channels;
  /** By pipeline. In a pipeline without a letter, the person is sent the notice's sentence. */
  letters?: Readonly<Record<string, WriteLetter>>;
  policy: CourierPolicy & { timeoutMs: number };
  /** Where readers of a notice find the API; without it, a link is a path. */
  publicUrl?: string | undefined;
  logger: Logger;
  metrics: Pick<Metrics, 'deliveries'>;
}

export interface Courier {
  /** Gives deliveries that are under way a moment to end. */
  stop(): Promise<void>;
}

/** An event is routed, and its delivery taken, within this time. A turn costs one cheap index look-up. */
const EVERY_MS = 1_000;

const PAGE = 100;

/** Deliveries of one channel at once: enough for a burst of alerts, few enough for a small receiver. */
const AT_ONCE = 10;

/** A courier holds a delivery for this long beyond the delivery's time limit, so that it can still mark the delivery
 *  after a short outage of the database. */
const LEASE_MARGIN_MS = 45_000;

/** A shutdown waits no longer for a receiver. The receiver may have taken a notice whose request was cut off; it then
 *  gets the notice again with the same id. */
const STOP_PATIENCE_MS = 3_000;

/** The wait between two tries to mark a delivery as delivered. */
const MARK_EVERY_MS = 1_000;

/** Delivers the events of the outbox. Any number of copies may run, because each delivery is taken by one of them. A
 *  delivery is made once, unless its courier dies (or loses the database for the whole lease) between sending and
 *  marking: then it is made again, with the same id. Every channel has its own loop, so that a slow channel does not
 *  delay the others. */
export function startCourier(deps: CourierDeps): Courier {
  const stopping = new AbortController();
  const { logger } = deps;
  const names = Object.keys(deps.channels) as ChannelName[];
  const routeTurn = async () => ((await routeDue(deps)) === PAGE ? 0 : EVERY_MS);
  const loops = [
    startLoop({ everyMs: EVERY_MS, name: 'courier', logger, turn: routeTurn }),
    ...names.map((name) =>
      startLoop({
        everyMs: EVERY_MS,
        name: `courier-${name}`,
        logger,
        turn: async () => ((await deliverDue(deps, name, stopping.signal)) === AT_ONCE ? 0 : EVERY_MS),
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

/** Creates the deliveries of one page of events. Returns the number of events. */
export async function routeDue(deps: Pick<CourierDeps, 'pool' | 'channels' | 'publicUrl'>): Promise<number> {
  const { pool, channels, publicUrl = '' } = deps;
  const named = Object.entries(channels) as [ChannelName, Notifier][];
  await dropUnconfigured(
    pool,
    named.map(([name]) => name),
  );
  await tellGathered(pool, publicUrl);
  const route = (notice: Notice): ChannelName[] =>
    named.filter(([, each]) => each.reaches(notice)).map(([name]) => name);
  return routeEvents(pool, route, { limit: PAGE, publicUrl });
}

/** Makes the due deliveries of one channel. Returns how many it took. */
export async function deliverDue(deps: CourierDeps, name: ChannelName, stopping: AbortSignal): Promise<number> {
  const channel = deps.channels[name];
  if (!channel) return 0;
  const askedAt = performance.now();
  const leaseMs = deps.policy.timeoutMs + LEASE_MARGIN_MS;
  const taken = await takeDueDeliveries(deps.pool, { channel: name, limit: AT_ONCE, leaseMs });
  // The answer took so long that the lease may end before a delivery does, and another courier may take it meanwhile.
  if (performance.now() - askedAt > LEASE_MARGIN_MS / 2) return 0;
  // Wait for all deliveries even if one fails: the loop must not go on, or end, while some are under way.
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
  // More takes than tries: the courier that made the last try died during it, and perhaps because of it.
  if (delivery.tries > policy.tries) {
    await fail(deps, delivery, new AppError('delivery_failed', 'the last try was not seen to end'));
    return;
  }
  try {
    const notice = await withLetter(deps, delivery.notice);
    const limit = { signal: stopping, timeoutMs: policy.timeoutMs };
    await runWithinTime(limit, (signal) => channel.deliver(notice, signal));
  } catch (error) {
    await fail(deps, delivery, error);
    return;
  }
  deps.metrics.deliveries.inc({ channel: delivery.channel, result: 'delivered' });
  await persist(deps, stopping, () => markDelivered(pool, delivery));
}

/** The letter is written when the notice is sent and not when its event is raised, because one statement may raise the
 *  event and store the facts that the letter tells. */
async function withLetter({ pool, letters = {} }: CourierDeps, notice: Notice): Promise<Notice> {
  const { mailTo, pipeline, itemId } = notice;
  if (mailTo === null || pipeline === null || itemId === null) return notice;
  const letter = await letters[pipeline]?.(pool, itemId, notice);
  return letter ? { ...notice, letter } : notice;
}

/** If the failure can't be written to the database, the lease ends and the delivery is tried again anyway. */
async function fail(deps: CourierDeps, delivery: TakenDelivery, error: unknown): Promise<void> {
  const { channel, notice, tries } = delivery;
  const waitMs = redeliveryDecision(deps.policy, { tries, error }, Math.random());
  const facts = { err: error, event: notice.id, channel, tries };
  deps.metrics.deliveries.inc({ channel, result: waitMs === null ? 'given_up' : 'retried' });
  if (waitMs === null) deps.logger.error(facts, 'notification given up');
  else deps.logger.warn({ ...facts, waitMs }, 'notification not delivered');
  await markFailed(deps.pool, delivery, { error: error instanceof Error ? error.message : String(error), waitMs });
}

/** Marks a delivery as delivered, and tries again when the database fails: a delivery without its mark is sent a second
 *  time. */
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
