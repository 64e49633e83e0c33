import type pg from 'pg';
import type { Notice } from '../../ports/notifier.js';
import { Parameters } from '../postgres/parameters.js';

export interface DeliveryState {
  channel: string;
  tries: number;
  /** When the delivery is tried next. It has no meaning after the delivery is made or given up. */
  dueAt: Date;
  deliveredAt: Date | null;
  failedAt: Date | null;
  lastError: string | null;
}

/** An event and its deliveries. */
export interface Notification extends Notice {
  deliveries: DeliveryState[];
}

export interface NotificationPage {
  /** Only notifications of which a delivery was given up. */
  failed?: boolean | undefined;
  /** The last notification of the page before. */
  before: { at: Date; id: string } | null;
  limit: number;
}

/** Lists the newest first; notifications of one moment are ordered by id. */
export async function listNotifications(
  pool: pg.Pool,
  { failed, before, limit }: NotificationPage,
): Promise<Notification[]> {
  const p = new Parameters();
  const conditions = [
    ...(failed ? ['EXISTS (SELECT 1 FROM deliveries f WHERE f.event_id = o.id AND f.failed_at IS NOT NULL)'] : []),
    ...(before ? [`(o.created_at, o.id) < (${p.add(before.at)}::timestamptz, ${p.add(before.id)})`] : []),
  ];
  const { rows } = await pool.query<Notice & { deliveries: DeliveryRow[] | null }>(
    `SELECT o.id, o.kind, o.sentence, o.pipeline, o.item_id AS "itemId", o.owner, o.mail_to AS "mailTo", o.payload,
       o.created_at AS at,
       (SELECT json_agg(to_jsonb(d) ORDER BY d.channel) FROM deliveries d WHERE d.event_id = o.id) AS deliveries
     FROM outbox o ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}
     ORDER BY o.created_at DESC, o.id DESC LIMIT ${p.add(limit)}`,
    p.values,
  );
  return rows.map((row) => ({ ...row, deliveries: (row.deliveries ?? []).map(stateOf) }));
}

/** A row of `deliveries` in JSON. */
interface DeliveryRow {
  channel: string;
  tries: number;
  due_at: string;
  delivered_at: string | null;
  failed_at: string | null;
  last_error: string | null;
}

function stateOf(row: DeliveryRow): DeliveryState {
  const { channel, tries, last_error: lastError } = row;
  const [deliveredAt, failedAt] = [row.delivered_at, row.failed_at].map((at) => (at === null ? null : new Date(at)));
  return {
    channel,
    tries,
    lastError,
    dueAt: new Date(row.due_at),
    deliveredAt: deliveredAt ?? null,
    failedAt: failedAt ?? null,
  };
}
