import type { FastifyBaseLogger } from 'fastify';
import { listMoves } from '../../db/reads/event-feed.js';
import type { AuditEntry } from '../../db/generated/client.js';
import type { Prisma } from '../../db/postgres/prisma.js';
import type { EventHub, ItemPulse } from '../../ports/event-hub.js';
import { moveLine } from './item-answer.js';
import type { ItemSnapshot } from '../parts.js';
import type { EventStream } from '../http/open-streams.js';

export interface Followed {
  hub: EventHub;
  prisma: Prisma;
  log: FastifyBaseLogger;
  missed: readonly AuditEntry[];
  snapshot: ItemSnapshot;
}

/** Moves that one look sends. The rest comes with the next look. */
const MOVES_TOLD = 200;

/** Sends every version after the snapshot to the stream, in order, and the running stage whenever it has changed. */
export function followItem(stream: EventStream, { hub, prisma, log, missed, snapshot }: Followed): void {
  let version = snapshot.version;
  let inflight = '';
  let isReading = false;

  function tellMove(entry: AuditEntry): void {
    stream.send({ event: 'move', id: String(entry.version), data: moveLine(entry) });
  }
  async function tellMoves(): Promise<void> {
    for (const entry of await listMoves(prisma, snapshot.id, version, MOVES_TOLD)) {
      tellMove(entry);
      version = entry.version;
    }
  }
  function tellInflight(pulse: ItemPulse): void {
    const seen = JSON.stringify(pulse.inflight);
    if (seen === inflight) return;
    inflight = seen;
    stream.send({ event: 'inflight', data: { version: pulse.version, inflight: pulse.inflight } });
  }
  async function follow(pulse: ItemPulse): Promise<void> {
    // A look that takes longer than a second is not overtaken by the next look, or a move would be sent twice.
    if (isReading) return;
    isReading = true;
    try {
      if (pulse.version > version) await tellMoves();
      tellInflight(pulse);
    } catch (error) {
      log.warn({ err: error }, 'moves of an item could not be read');
    } finally {
      isReading = false;
    }
  }

  for (const entry of missed) if (entry.version <= version) tellMove(entry);
  stream.send({ event: 'snapshot', id: String(version), data: snapshot });
  stream.onClose(hub.watch(snapshot.id, (pulse) => void follow(pulse)));
}
