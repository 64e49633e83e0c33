import { type Breaker, type BreakerSettings, type Change, openingChange } from '../../core/breaker.js';
import type { ErrorClass } from '../../core/error-class.js';
import { findStage } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import { OVER } from '../spine/hold.js';
import { raiseEvent } from './outbox.js';

/** A breaker that holds claims. */
export interface BreakerRow extends Breaker {
  pipeline: string;
  class: ErrorClass;
  stages: string[];
  openedAt: Date;
}

const COLUMNS = `pipeline, class, state, stages, opened_at AS "openedAt", probing, probe_every_ms AS "probeEveryMs",
  per_second AS "perSecond", successes, round, waiting,
  extract(epoch FROM next_pass_at - clock_timestamp())::float8 * 1000 AS "dueInMs"`;

/** The breakers that hold a stage. */
export async function findHolding(sql: Sql, pipeline: string, stage: string): Promise<BreakerRow[]> {
  const { rows } = await sql.query<BreakerRow>(
    `SELECT ${COLUMNS} FROM breakers WHERE pipeline = $1 AND state <> 'closed' AND $2 = ANY (stages)`,
    [pipeline, stage],
  );
  return rows;
}

/** Locks the breaker until the end of the transaction, so that only one of many claims takes a free place. The item and
 *  its task are locked before it, and no row after it. */
export async function lockBreaker(transaction: Sql, pipeline: string, errorClass: string): Promise<BreakerRow | null> {
  const { rows } = await transaction.query<BreakerRow>(
    `SELECT ${COLUMNS} FROM breakers WHERE pipeline = $1 AND class = $2 AND state <> 'closed' FOR UPDATE`,
    [pipeline, errorClass],
  );
  return rows[0] ?? null;
}

/** Writes the change of a locked breaker. `waiting` is counted only now and then, because many items may wait. */
export async function writeBreaker(
  transaction: Sql,
  { pipeline, class: errorClass }: Pick<BreakerRow, 'pipeline' | 'class'>,
  change: Change,
  waiting: number | null = null,
): Promise<void> {
  await transaction.query(
    `UPDATE breakers SET state = $3, probing = $4, probe_every_ms = $5, per_second = $6, successes = $7, round = $8,
       next_pass_at = COALESCE(clock_timestamp() + $9::float8 * interval '1 millisecond', next_pass_at),
       waiting = COALESCE($10, waiting)
     WHERE pipeline = $1 AND class = $2`,
    [pipeline, errorClass, ...valuesOf(change), change.nextPassInMs, waiting],
  );
}

function valuesOf({ state, probing, probeEveryMs, perSecond, successes, round }: Change): unknown[] {
  return [state, probing, probeEveryMs, perSecond, successes, round];
}

/** Live items in the states that do these stages. */
export async function countWaiting(sql: Sql, pipeline: Pipeline, stages: readonly string[]): Promise<number> {
  // The table may have lost a stage since the breaker opened.
  const states = stages.flatMap((stage) => findStage(pipeline, stage)?.state ?? []);
  const { rows } = await sql.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM items WHERE pipeline = $1 AND state = ANY ($2) AND ended_at IS NULL',
    [pipeline.name, states],
  );
  return rows[0]?.count ?? 0;
}

export interface Storm {
  class: ErrorClass;
  stage: string;
  reason: string;
}

/** Opens a breaker, or makes an open breaker hold another stage too. Claims look at its row in `holds` first. */
export async function openBreaker(
  transaction: Sql,
  pipeline: Pipeline,
  settings: BreakerSettings,
  storm: Storm,
): Promise<void> {
  const { class: errorClass, stage, reason } = storm;
  const change = openingChange(settings, 1);
  const waiting = await countWaiting(transaction, pipeline, [stage]);
  const { rows } = await transaction.query<{ openedAt: Date; stages: string[] }>(
    `INSERT INTO breakers AS b (pipeline, class, state, probing, probe_every_ms, per_second, successes, round,
       next_pass_at, waiting, stages, reason, opened_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9::float8 * interval '1 millisecond', $10, ARRAY[$11], $12,
       clock_timestamp())
     ON CONFLICT (pipeline, class) DO UPDATE SET
       state = excluded.state, probing = false, probe_every_ms = excluded.probe_every_ms, per_second = 0, successes = 0,
       round = b.round + 1, next_pass_at = excluded.next_pass_at, waiting = b.waiting + excluded.waiting,
       reason = excluded.reason, closed_at = NULL,
       stages = CASE WHEN b.state = 'closed' THEN excluded.stages ELSE array_append(b.stages, $11) END,
       opened_at = CASE WHEN b.state = 'closed' THEN excluded.opened_at ELSE b.opened_at END
     RETURNING opened_at AS "openedAt", stages`,
    [pipeline.name, errorClass, ...valuesOf(change), change.nextPassInMs, waiting, stage, reason],
  );
  const [opened] = rows;
  if (!opened) throw new Error(`the breaker of ${pipeline.name} and ${errorClass} was not written`);
  await transaction.query(
    `INSERT INTO holds (pipeline, kind, key, until, reason, set_by) VALUES ($1, 'breaker', $2, 'infinity', $3, 'system')
     ON CONFLICT (pipeline, kind, key) DO UPDATE SET until = excluded.until, wake_from = NULL, reason = excluded.reason`,
    [pipeline.name, errorClass, reason],
  );
  await raiseEvent(transaction, {
    // Each further stage that an open breaker holds is an event of its own.
    id: `${eventId('breaker_opened', { pipeline: pipeline.name, class: errorClass, openedAt: opened.openedAt })}:${stage}`,
    kind: 'breaker_opened',
    pipeline: pipeline.name,
    sentence: `${pipeline.name} holds back ${stage}: ${reason}.`,
    payload: { class: errorClass, stages: opened.stages, openedAt: opened.openedAt.toISOString() },
  });
}

/** Closes a locked breaker. Its row stays, so that earlier failures are not counted again. Waiting items come back by
 *  themselves, spread over time; with `wakeFrom` all of them are woken, beginning with the item of this id. */
export async function closeBreaker(
  transaction: Sql,
  breaker: BreakerRow,
  why: string,
  wakeFrom: string | null = null,
): Promise<void> {
  const { pipeline, class: errorClass, stages, openedAt } = breaker;
  await transaction.query(
    wakeFrom === null
      ? `DELETE FROM holds WHERE pipeline = $1 AND kind = 'breaker' AND key = $2`
      : `UPDATE holds SET until = ${OVER}, wake_from = $3 WHERE pipeline = $1 AND kind = 'breaker' AND key = $2`,
    [pipeline, errorClass, ...(wakeFrom === null ? [] : [wakeFrom])],
  );
  await transaction.query(
    `UPDATE breakers SET state = 'closed', probing = false, waiting = 0, closed_at = clock_timestamp() WHERE pipeline = $1 AND class = $2`,
    [pipeline, errorClass],
  );
  await raiseEvent(transaction, {
    id: eventId('breaker_closed', breaker),
    kind: 'breaker_closed',
    pipeline,
    sentence: `${pipeline} no longer holds back ${stages.join(', ')} because of ${errorClass}: ${why}.`,
    payload: { class: errorClass, stages, openedAt: openedAt.toISOString() },
  });
}

function eventId(
  kind: string,
  { pipeline, class: errorClass, openedAt }: Pick<BreakerRow, 'pipeline' | 'class' | 'openedAt'>,
) {
  return `${kind}:${pipeline}:${errorClass}:${openedAt.toISOString()}`;
}
