import type pg from 'pg';
import type { ChannelName, Notice } from '../../ports/notifier.js';
import { inTransaction } from '../postgres/client.js';
import { storableText } from '../postgres/parameters.js';
import { gatherNotices } from './gather-notices.js';

const NOTICE = `id, kind, sentence, pipeline, item_id AS "itemId", owner, mail_to AS "mailTo", payload, created_at AS at`;

/** The channels that a notice goes to. */
export type Route = (notice: Notice) => readonly ChannelName[];

/** Creates the deliveries of the oldest events that have none, and returns the number of events. Each event is routed
 *  once, because its row is locked until it is marked as routed, and other couriers skip locked rows. An event that a later notice
 *  counts has no deliveries. */
export async function routeEvents(
  pool: pg.Pool,
  route: Route,
  { limit, publicUrl }: { limit: number; publicUrl: string },
): Promise<number> {
  return inTransaction(pool, async (sql) => {
    const { rows: notices } = await sql.query<Notice>(
      `SELECT ${NOTICE} FROM outbox WHERE routed_at IS NULL ORDER BY created_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED`,
      [limit],
    );
    if (notices.length === 0) return 0;
    const sent = await gatherNotices(sql, notices, publicUrl);
    const routes = sent.flatMap((notice) => route(notice).map((channel) => ({ id: notice.id, channel })));
    await sql.query(
      `WITH routed AS (UPDATE outbox SET routed_at = now() WHERE id = ANY ($1))
       INSERT INTO deliveries (event_id, channel) SELECT * FROM unnest($2::text[], $3::text[])`,
      [notices.map(({ id }) => id), routes.map(({ id }) => id), routes.map(({ channel }) => channel)],
    );
    return notices.length;
  });
}

/** Gives up deliveries that have waited for a day for a channel that this process does not have: no courier would ever
 *  take them. It waits a day, so that processes with older and newer settings may run side by side. */
export async function dropUnconfigured(pool: pg.Pool, channels: readonly ChannelName[]): Promise<number> {
  const { rowCount } = await pool.query(
    `UPDATE deliveries SET failed_at = now(), last_error = 'this channel is no longer configured'
     WHERE delivered_at IS NULL AND failed_at IS NULL AND due_at < now() - interval '1 day' AND channel <> ALL ($1::text[])`,
    [channels],
  );
  return rowCount ?? 0;
}

export interface TakenDelivery {
  channel: ChannelName;
  /** How often the delivery was taken, counting this time. */
  tries: number;
  notice: Notice;
}

export interface Take {
  channel: ChannelName;
  limit: number;
  /** For this long no other courier takes them. */
  leaseMs: number;
}

/** Takes a channel's due deliveries, the oldest first. The same statement moves `due_at` on. So any number of couriers
 *  may run, and a delivery whose courier died comes back. */
export async function takeDueDeliveries(pool: pg.Pool, { channel, limit, leaseMs }: Take): Promise<TakenDelivery[]> {
  const { rows } = await pool.query<Notice & { tries: number }>(
    `WITH due AS (
       SELECT event_id AS due_id FROM deliveries
       WHERE channel = $1 AND due_at <= now() AND delivered_at IS NULL AND failed_at IS NULL
       ORDER BY due_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
     ), taken AS (
       UPDATE deliveries SET due_at = now() + $3 * interval '1 ms', tries = tries + 1
       FROM due WHERE event_id = due_id AND channel = $1 RETURNING event_id, tries
     )
     SELECT ${NOTICE}, tries FROM taken JOIN outbox ON id = event_id ORDER BY created_at`,
    [channel, limit, leaseMs],
  );
  return rows.map(({ tries, ...notice }) => ({ channel, tries, notice }));
}

type Key = Pick<TakenDelivery, 'channel' | 'notice'>;

/** Marks the delivery, even if another courier has taken it since: the receiver has the notice. */
export async function markDelivered(pool: pg.Pool, { channel, notice }: Key): Promise<void> {
  await pool.query(
    `UPDATE deliveries SET delivered_at = now(), failed_at = NULL, last_error = NULL
     WHERE event_id = $1 AND channel = $2 AND delivered_at IS NULL`,
    [notice.id, channel],
  );
}

/** Records the failure. The delivery is due again after the wait; null: it is given up. Only the courier that took it
 *  last may do this. */
export async function markFailed(
  pool: pg.Pool,
  { channel, notice, tries }: TakenDelivery,
  { error, waitMs }: { error: string; waitMs: number | null },
): Promise<void> {
  await pool.query(
    `UPDATE deliveries SET last_error = $4, due_at = now() + coalesce($5::float8, 0) * interval '1 ms',
       failed_at = CASE WHEN $5::float8 IS NULL THEN now() END
     WHERE event_id = $1 AND channel = $2 AND tries = $3 AND delivered_at IS NULL`,
    [notice.id, channel, tries, storableText(error), waitMs],
  );
}
