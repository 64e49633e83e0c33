import type pg from 'pg';
import { groupKeyOf, groupOf, groupPath, groupSentence, type NoticeGroup } from '../../core/notice-group.js';
import type { Notice } from '../../ports/notifier.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import { raiseEvent } from './outbox.js';

/** The next notice of a group is sent an hour after the last one. */
const HOUR_OVER = `told_at <= now() - interval '1 hour'`;

/** One turn of the courier sends notices of at most this many groups. */
const PAGE = 100;

const KEY = 'kind = $1 AND pipeline = $2 AND class = $3 AND owner = $4';

/** Returns the notices that are sent as they are: those of no group, and a single event that is the first of its group for an hour.
 *  Several events that begin an hour together are sent as one notice with their count. The next notice of the group counts the other
 *  events. Groups are locked in one order, so that two couriers do not deadlock. */
export async function gatherNotices(sql: Sql, notices: readonly Notice[], publicUrl: string): Promise<Notice[]> {
  const sent = notices.filter((notice) => groupOf(notice) === null);
  for (const [group, events] of groupsIn(notices)) {
    const since = events[0]?.at ?? new Date();
    const { rows } = await sql.query<{ waiting: number; since: Date; isDue: boolean }>(
      `INSERT INTO notice_groups (kind, pipeline, class, owner, waiting, since) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (kind, pipeline, class, owner) DO UPDATE SET waiting = notice_groups.waiting + excluded.waiting,
         since = CASE WHEN notice_groups.waiting = 0 THEN excluded.since ELSE notice_groups.since END
       RETURNING waiting, since, told_at IS NULL OR ${HOUR_OVER} AS "isDue"`,
      [...keyValues(group), events.length, since],
    );
    const [row] = rows;
    if (!row?.isDue) continue;
    if (row.waiting === 1) sent.push(...events);
    else await raiseCount(sql, group, row, publicUrl);
    await markTold(sql, group);
  }
  return sent;
}

/** Sends the notices of groups whose hour is over. A group without waiting events is deleted, because its next event is sent at once
 *  with or without the row. Returns the number of notices. */
export async function tellGathered(pool: pg.Pool, publicUrl: string): Promise<number> {
  return inTransaction(pool, async (sql) => {
    const { rows } = await sql.query<NoticeGroup & { waiting: number; since: Date }>(
      `SELECT kind, pipeline, class, owner, waiting, since FROM notice_groups WHERE ${HOUR_OVER}
       ORDER BY kind, pipeline, class, owner LIMIT $1 FOR UPDATE SKIP LOCKED`,
      [PAGE],
    );
    for (const { waiting, since, ...group } of rows) {
      if (waiting === 0) await sql.query(`DELETE FROM notice_groups WHERE ${KEY}`, keyValues(group));
      else {
        await raiseCount(sql, group, { waiting, since }, publicUrl);
        await markTold(sql, group);
      }
    }
    return rows.filter(({ waiting }) => waiting > 0).length;
  });
}

function groupsIn(notices: readonly Notice[]): [NoticeGroup, Notice[]][] {
  const groups = new Map<string, [NoticeGroup, Notice[]]>();
  for (const notice of notices) {
    const group = groupOf(notice);
    if (!group) continue;
    const found = groups.get(groupKeyOf(group));
    if (found) found[1].push(notice);
    else groups.set(groupKeyOf(group), [group, [notice]]);
  }
  return [...groups.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

/** The id names the first event that is counted, so that no two notices of a group share one. */
async function raiseCount(
  sql: Sql,
  group: NoticeGroup,
  { waiting, since }: { waiting: number; since: Date },
  publicUrl: string,
): Promise<void> {
  const link = `${publicUrl.replace(/\/+$/, '')}${groupPath(group)}`;
  const { kind, pipeline, class: errorClass, owner } = group;
  await raiseEvent(sql, {
    id: [kind, pipeline, errorClass, owner, since.toISOString()].join(':'),
    ...{ kind, pipeline, ...(owner !== '' && { owner }) },
    sentence: groupSentence(group, waiting, { since, link }),
    payload: { count: waiting, errorClass: errorClass === '' ? null : errorClass, since: since.toISOString(), link },
  });
}

async function markTold(sql: Sql, group: NoticeGroup): Promise<void> {
  await sql.query(`UPDATE notice_groups SET waiting = 0, told_at = now() WHERE ${KEY}`, keyValues(group));
}

function keyValues({ kind, pipeline, class: errorClass, owner }: NoticeGroup): string[] {
  return [kind, pipeline, errorClass, owner];
}
