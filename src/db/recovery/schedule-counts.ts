import type pg from 'pg';
import type { ScheduleStatus } from '../../ports/schedules.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import { raiseEvent } from './outbox.js';

interface Counts {
  skipped: number;
  missed: number;
}

/** Keeps Temporal's counts, and raises an event in the same transaction when a count grew. However many processes look, and
 *  whenever they look, growth is reported once. False: nothing new. */
export async function noteScheduleCounts(pool: pg.Pool, id: string, status: ScheduleStatus): Promise<boolean> {
  return inTransaction(pool, async (transaction) => {
    await transaction.query(
      `INSERT INTO schedule_counts (schedule, created_at, skipped, missed) VALUES ($1, $2, 0, 0) ON CONFLICT DO NOTHING`,
      [id, status.createdAt],
    );
    const { rows } = await transaction.query<Counts>(
      `WITH before AS (SELECT * FROM schedule_counts WHERE schedule = $1 FOR UPDATE)
       UPDATE schedule_counts c SET created_at = $2, skipped = $3, missed = $4, seen_at = now() FROM before
       WHERE c.schedule = before.schedule
       RETURNING CASE WHEN before.created_at = $2 THEN before.skipped ELSE 0 END AS skipped,
         CASE WHEN before.created_at = $2 THEN before.missed ELSE 0 END AS missed`,
      [id, status.createdAt, status.skipped, status.missed],
    );
    const [before = { skipped: 0, missed: 0 }] = rows;
    const grown = { skipped: status.skipped - before.skipped, missed: status.missed - before.missed };
    if (grown.skipped <= 0 && grown.missed <= 0) return false;
    return raiseEvent(transaction, {
      id: `schedule_skipped:${id}:${await hourOf(transaction)}`,
      kind: 'schedule_skipped',
      sentence: sentenceOf(id, grown),
      payload: { schedule: id, ...grown },
    });
  });
}

/** A schedule that skips run after run is told of once an hour. */
async function hourOf(transaction: Sql): Promise<string> {
  const { rows } = await transaction.query<{ hour: Date }>(`SELECT date_trunc('hour', now()) AS hour`);
  return rows[0]?.hour.toISOString() ?? '';
}

function sentenceOf(id: string, { skipped, missed }: Counts): string {
  const parts = [
    ...(skipped > 0 ? [`skipped ${runs(skipped)}, because the one before still went on`] : []),
    ...(missed > 0 ? [`missed ${runs(missed)}, which came due while Temporal was away`] : []),
  ];
  return `${id} ${parts.join(', and ')}.`;
}

function runs(count: number): string {
  return `${count} run${count === 1 ? '' : 's'}`;
}
