import type { FastifyBaseLogger } from 'fastify';
import type { EventHub, ItemPulse } from '../../ports/event-hub.js';
import type { EventStream } from '../http/open-streams.js';

export interface StatusFollowing {
  hub: EventHub;
  log: FastifyBaseLogger;
  itemId: string;
  statusOf(itemId: string): Promise<object | null>;
}

/** A status also changes without a move: the item falls silent, or a breaker opens. Owners are warned after minutes, so a
 *  look every quarter of a minute is soon enough. */
const LOOK_AGAIN_MS = 15_000;

/** Sends the status to the stream at once, and again after each move and whenever a later look finds it changed. */
export async function followStatus(stream: EventStream, following: StatusFollowing): Promise<void> {
  const { hub, log, itemId, statusOf } = following;
  let told = '';
  let version = 0;
  let lookedAt = 0;
  let isReading = false;

  async function look(): Promise<void> {
    lookedAt = performance.now();
    const status = await statusOf(itemId);
    if (!status) {
      stream.end();
      return;
    }
    const text = JSON.stringify(status);
    if (text !== told) stream.send({ event: 'status', data: status });
    told = text;
  }
  async function follow(pulse: ItemPulse): Promise<void> {
    // A look that takes longer than a second is not overtaken by the next look.
    if (isReading || (pulse.version === version && performance.now() - lookedAt < LOOK_AGAIN_MS)) return;
    isReading = true;
    try {
      await look();
      version = pulse.version;
    } catch (error) {
      log.warn({ err: error }, 'the status of an item could not be read');
    } finally {
      isReading = false;
    }
  }

  await look();
  stream.onClose(hub.watch(itemId, (pulse) => void follow(pulse)));
}
