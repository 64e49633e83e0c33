import type pg from 'pg';
import type { Prisma } from '../postgres/prisma.js';

/** A place in the feed: the transaction that wrote an entry, and the entry. Ids alone will not do: one that is given first may
 *  be committed last, and a reader that had passed it by would never see it. */
export interface FeedPosition {
  xact: string;
  id: string;
}

export interface FeedEvent extends FeedPosition {
  itemId: string;
  pipeline: string;
  owner: string;
  version: number;
  from: string | null;
  to: string;
  trigger: string;
  actor: string;
  actorType: string;
  at: Date;
}

const COLUMNS = `xact::text AS xact, audit.id::text AS id, item_id AS "itemId", pipeline, owner, version, from_state AS "from",
  to_state AS "to", trigger, actor, actor_type AS "actorType", at`;

/** Every transaction below it has ended: nothing more comes from one of them. */
const HORIZON = 'pg_snapshot_xmin(pg_current_snapshot())';

/** Where somebody begins who wants to hear what happens from now on. */
export async function feedHorizon(pool: pg.Pool): Promise<FeedPosition> {
  const { rows } = await pool.query<{ xact: string }>(`SELECT ${HORIZON}::text AS xact`);
  return { xact: rows[0]?.xact ?? '0', id: '0' };
}

export interface FeedRead {
  events: FeedEvent[];
  /** Everything up to here has been read. */
  position: FeedPosition;
  /** There is more already. */
  isFull: boolean;
}

/** What was committed behind `after`, in the feed's order. Entries of transactions that may still be joined by earlier ones
 *  are left for the next time. `owner`: of these items alone; `upTo`: not past there. */
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
  // Nothing lies between the last entry and the horizon, unless the page was full.
  const end = isFull && last ? { xact: last.xact, id: last.id } : (upTo ?? horizon);
  return { events, position: isBehind(after, end) ? end : after, isFull };
}

/** Whether `a` comes before `b`. */
export function isBehind(a: FeedPosition, b: FeedPosition): boolean {
  const [xactA, xactB] = [BigInt(a.xact), BigInt(b.xact)];
  return xactA < xactB || (xactA === xactB && BigInt(a.id) < BigInt(b.id));
}

export interface ItemPulse {
  id: string;
  version: number;
  inflight: {
    stage: string;
    unit: string;
    attempt: number;
    worker: string | null;
    startedAt: string;
    beatAt: string;
    progress: Record<string, unknown> | null;
  }[];
}

/** Running tasks of one item that are shown. */
const INFLIGHT_SHOWN = 50;

/** How far each of these items is, and what runs: one statement for all that are listened to. */
export async function readPulses(pool: pg.Pool, itemIds: readonly string[]): Promise<ItemPulse[]> {
  const { rows } = await pool.query<ItemPulse>(
    `SELECT i.id, i.version, COALESCE((SELECT json_agg(t) FROM (
       SELECT stage, unit, attempt, worker, started_at AS "startedAt", beat_at AS "beatAt", progress FROM tasks
       WHERE item_id = i.id AND visit = i.visit AND status = 'running' AND i.ended_at IS NULL
       ORDER BY stage, unit LIMIT ${String(INFLIGHT_SHOWN)}) t), '[]'::json) AS inflight
     FROM items i WHERE i.id = ANY ($1::uuid[])`,
    [itemIds],
  );
  return rows;
}

/** An item's moves behind a version, in order. Its row is locked for each, so that none can come in between later. */
export async function listMoves(prisma: Prisma, itemId: string, behind: number, limit: number) {
  return prisma.auditEntry.findMany({
    where: { itemId, version: { gt: behind } },
    orderBy: { id: 'asc' },
    take: limit,
  });
}
