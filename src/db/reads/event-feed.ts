import type pg from 'pg';
import type { FeedEvent, FeedPosition, ItemPulse } from '../../ports/event-hub.js';
import type { Prisma } from '../postgres/prisma.js';

const COLUMNS = `xact::text AS xact, audit.id::text AS id, item_id AS "itemId", pipeline, owner, version, from_state AS "from",
  to_state AS "to", trigger, actor, actor_type AS "actorType", at`;

/** Every transaction below the horizon has ended, so no more entries come from it. */
const HORIZON = 'pg_snapshot_xmin(pg_current_snapshot())';

/** The position at which a listener begins that wants new moves only. */
export async function feedHorizon(pool: pg.Pool): Promise<FeedPosition> {
  const { rows } = await pool.query<{ xact: string }>(`SELECT ${HORIZON}::text AS xact`);
  return { xact: rows[0]?.xact ?? '0', id: '0' };
}

export interface FeedRead {
  events: FeedEvent[];
  /** All moves up to here have been read. */
  position: FeedPosition;
  /** The page is full, so more moves may be there. */
  isFull: boolean;
}

/** Reads the moves after a position, in the feed's order. Moves at or above the horizon are left for the next read,
 *  because earlier transactions may still commit. `owner`: moves of this owner's items alone; `upTo`: moves up to this
 *  position. */
export async function readFeed(
  pool: pg.Pool,
  after: FeedPosition,
  { limit, owner = null, upTo = null }: { limit: number; owner?: string | null; upTo?: FeedPosition | null },
): Promise<FeedRead> {
  const { rows } = await pool.query<{ horizon: string; events: (Omit<FeedEvent, 'at'> & { at: string })[] | null }>(
    `SELECT ${HORIZON}::text AS horizon, (SELECT json_agg(e) FROM (
       SELECT ${COLUMNS} FROM audit
       WHERE (audit.xact, audit.id) > ($1::xid8, $2::bigint) AND audit.xact < ${HORIZON}
         ${upTo ? 'AND (audit.xact, audit.id) <= ($4::xid8, $5::bigint)' : ''}
         ${owner === null ? '' : `AND owner = $${upTo ? '6' : '4'}`}
       ORDER BY audit.xact, audit.id LIMIT $3) e) AS events`,
    [after.xact, after.id, limit, ...(upTo ? [upTo.xact, upTo.id] : []), ...(owner === null ? [] : [owner])],
  );
  const events = (rows[0]?.events ?? []).map((each) => ({ ...each, at: new Date(each.at) }));
  const isFull = events.length >= limit;
  const last = events.at(-1);
  const horizon = { xact: rows[0]?.horizon ?? after.xact, id: '0' };
  // No move lies between the last entry and the horizon, unless the page is full.
  const end = isFull && last ? { xact: last.xact, id: last.id } : (upTo ?? horizon);
  return { events, position: isBehind(after, end) ? end : after, isFull };
}

/** Whether `a` comes before `b`. */
export function isBehind(a: FeedPosition, b: FeedPosition): boolean {
  const [xactA, xactB] = [BigInt(a.xact), BigInt(b.xact)];
  return xactA < xactB || (xactA === xactB && BigInt(a.id) < BigInt(b.id));
}

/** The most running tasks that are shown for one item. */
const INFLIGHT_SHOWN = 50;

/** Reads the version and the running tasks of these items: one statement for all items that are watched. */
export async function readPulses(pool: pg.Pool, itemIds: readonly string[]): Promise<ItemPulse[]> {
  const { rows } = await pool.query<ItemPulse>(
    `SELECT i.id, i.version, COALESCE((SELECT json_agg(t) FROM (
       SELECT stage, unit, attempt, worker, started_at AS "startedAt", beat_at AS "beatAt", progress FROM tasks
       WHERE item_id = i.id AND visit = i.visit AND status = 'running' AND i.ended_at IS NULL
       ORDER BY stage, unit LIMIT ${INFLIGHT_SHOWN}) t), '[]'::json) AS inflight
     FROM items i WHERE i.id = ANY ($1::uuid[])`,
    [itemIds],
  );
  return rows;
}

/** An item's moves after a version, in order. Each move locks the item's row, so no move can appear in between
 *  later. */
export async function listMoves(prisma: Prisma, itemId: string, behind: number, limit: number) {
  return prisma.auditEntry.findMany({
    where: { itemId, version: { gt: behind } },
    orderBy: { id: 'asc' },
    take: limit,
  });
}
