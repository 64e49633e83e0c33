import {
  diagnose,
  type Facts,
  type Hold,
  type ItemFacts,
  type RunningTask,
  type WaitingTask,
} from '../../core/diagnosis.js';
import type { Pipeline } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import { SUSPECT_CRASHES } from '../spine/claim/suspects.js';
import { HOLD_OF_ITEM } from '../spine/hold.js';
import type { Cause } from './receipts.js';

/** An item and all facts in its rows about why it does not move, at one moment. */
export interface StuckRow {
  id: string;
  owner: string;
  visit: number;
  epoch: number;
  version: number;
  facts: Omit<Facts, 'pipeline'>;
}

export interface StuckColumns extends Omit<ItemFacts, 'pausedUntil'> {
  id: string;
  owner: string;
  visit: number;
  epoch: number;
  version: number;
  now: Date;
  pausedUntil: Date | number | null;
  running: RunningTask['attempt'] | null;
  runningStage: string;
  runningUnit: string;
  runningWorker: string | null;
  runningSince: Date;
  runningBeatAt: Date;
  workerGoneAt: Date | null;
  waiting: WaitingTask['attempt'] | null;
  waitingStage: string;
  waitingUnit: string;
  crashes: number;
  isSuspect: boolean;
  retryAt: Date | null;
  errorClass: string | null;
  errorMessage: string | null;
  holdKind: Hold['kind'] | null;
  holdKey: string;
  holdUntil: Date | number;
  holdReason: string;
}

/** Reads from a relation `i` of whole item rows: the table `items`, or rows that a statement has just written. */
export const FACTS = `
  SELECT now() AS now, i.id, i.owner, i.visit, i.epoch, i.version, i.pipeline, i.state, i.beat_at AS "beatAt", i.started,
    i.start_after AS "startAfter", i.start_tries AS "startTries", i.accepted_at AS "acceptedAt",
    i.run_ended_at AS "runEndedAt", i.rescues,
    i.last_rescue_at AS "lastRescueAt", i.next_rescue_after AS "nextRescueAfter", i.paused_until AS "pausedUntil",
    i.pause_reason AS "pauseReason", i.parked_at AS "parkedAt", i.parked_why AS "parkedWhy", i.ended_at AS "endedAt",
    i.end_reason AS "endReason",
    r.attempt AS running, r.stage AS "runningStage", r.unit AS "runningUnit", r.name AS "runningWorker",
    r.started_at AS "runningSince", r.beat_at AS "runningBeatAt", r.gone_at AS "workerGoneAt",
    w.attempt AS waiting, w.stage AS "waitingStage", w.unit AS "waitingUnit", w.crashes,
    w.crashes >= ${SUSPECT_CRASHES} AS "isSuspect", w.retry_at AS "retryAt", w.error_class AS "errorClass",
    w.error_message AS "errorMessage",
    h.kind AS "holdKind", h.key AS "holdKey", h.until AS "holdUntil", h.reason AS "holdReason"`;

export const FACTS_JOINS = `
  LEFT JOIN LATERAL (
    SELECT t.*, COALESCE(p.name, t.worker) AS name, COALESCE(p.seen_gone_at, p.died_at, p.stopped_at) AS gone_at
    FROM tasks t LEFT JOIN workers p ON p.id = t.worker
    WHERE t.item_id = i.id AND t.visit = i.visit AND t.status = 'running' ORDER BY t.beat_at DESC LIMIT 1) r ON true
  LEFT JOIN LATERAL (
    SELECT * FROM tasks t WHERE t.item_id = i.id AND t.visit = i.visit AND t.status = 'waiting'
    ORDER BY t.retry_at NULLS LAST, t.position LIMIT 1) w ON true
  LEFT JOIN LATERAL (
    ${HOLD_OF_ITEM}) h ON true`;

/** Why a locked item has stopped, as far as its rows show. */
export async function causeOf(transaction: Sql, pipeline: Pipeline, item: { id: string }): Promise<Cause> {
  const { rows } = await transaction.query<StuckColumns>(`${FACTS} FROM items i ${FACTS_JOINS} WHERE i.id = $1`, [
    item.id,
  ]);
  const [row] = rows;
  if (!row) throw new Error(`item ${item.id} vanished while it was locked`);
  const { reason, sentence } = diagnose({ ...stuckRowOf(row).facts, pipeline });
  return { reason, sentence };
}

export function stuckRowOf(row: StuckColumns): StuckRow {
  const { id, owner, visit, epoch, version, now } = row;
  const item: ItemFacts = { ...row, pausedUntil: endOf(row.pausedUntil) };
  return { id, owner, visit, epoch, version, facts: { now, item, ...tasksOf(row), hold: holdOf(row) } };
}

function tasksOf(row: StuckColumns): Pick<Facts, 'running' | 'waiting'> {
  const { errorClass, errorMessage, crashes, isSuspect, retryAt } = row;
  return {
    running:
      row.running === null
        ? null
        : {
            stage: row.runningStage,
            unit: row.runningUnit,
            attempt: row.running,
            worker: row.runningWorker,
            startedAt: row.runningSince,
            beatAt: row.runningBeatAt,
            workerGoneAt: row.workerGoneAt,
          },
    waiting:
      row.waiting === null
        ? null
        : {
            stage: row.waitingStage,
            unit: row.waitingUnit,
            attempt: row.waiting,
            crashes,
            isSuspect,
            retryAt,
            error: errorClass === null ? null : { class: errorClass, message: errorMessage ?? '' },
          },
  };
}

function holdOf(row: StuckColumns): Hold | null {
  if (row.holdKind === null) return null;
  return { kind: row.holdKind, key: row.holdKey, until: endOf(row.holdUntil), reason: row.holdReason };
}

/** The driver returns Postgres' `infinity` as a number. */
function endOf<Time extends Date | number | null>(time: Time): Exclude<Time, number> | 'infinity' {
  return typeof time === 'number' ? 'infinity' : (time as Exclude<Time, number>);
}
