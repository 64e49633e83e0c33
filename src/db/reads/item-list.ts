import type pg from 'pg';
import type { Hold, RunningTask, WaitingTask } from '../../core/diagnosis.js';
import { SUSPECT_CRASHES } from '../spine/claim/suspects.js';
import { HOLD_OF_ITEM } from '../spine/hold.js';
import { branchesOf, hitOf, type ItemFilter } from './item-filter.js';
import { fieldsOf, type InflightTask, type ItemRecord, runningTaskOf, waitingTaskOf } from './item-view.js';
import { Parameters } from '../postgres/parameters.js';

export interface ScannedItem {
  item: ItemRecord;
  running: RunningTask | null;
  waiting: WaitingTask | null;
  hold: Hold | null;
}

export interface Scan {
  now: Date;
  items: ScannedItem[];
  /** The number of examined rows, and how many of them fit the filter. */
  examined: number;
  fitting: number;
  lastId: string | null;
}

export interface ScanBounds {
  before: string | null;
  /** The most rows that are examined, and the most that are returned. */
  examine: number;
  take: number;
}

/** Finds the newest items that fit the filter, with bounded work: an index leads to the rows, and the rest of the
 *  filter is checked on at most `examine` of them. It is one statement, so all rows are of one moment. */
export async function scanItems(pool: pg.Pool, filter: ItemFilter, bounds: ScanBounds): Promise<Scan> {
  const p = new Parameters();
  const examine = p.add(bounds.examine);
  const branches = branchesOf(filter, p).map(
    (conditions) => `(SELECT * FROM items WHERE ${conditions.join(' AND ')}
        ${bounds.before === null ? '' : `AND id < ${p.add(bounds.before)}::uuid`} ORDER BY id DESC LIMIT ${examine})`,
  );
  const { rows } = await pool.query<Row>(
    `WITH scanned AS MATERIALIZED (
       SELECT i.id, ${hitOf(filter, p)} AS hit FROM (${branches.join(' UNION ALL ')}) i ORDER BY i.id DESC LIMIT ${examine}
     ), picked AS (
       SELECT id FROM scanned WHERE hit ORDER BY id DESC LIMIT ${p.add(bounds.take)}
     )
     SELECT now() AS now, (SELECT count(*)::int FROM scanned) AS examined,
       (SELECT count(*)::int FROM scanned WHERE hit) AS fitting,
       (SELECT id FROM scanned ORDER BY id LIMIT 1) AS "lastId",
       (SELECT json_agg(json_build_object('item', to_jsonb(i), 'running', ${RUNNING}, 'waiting', ${WAITING}, 'hold', ${HOLD})
          ORDER BY i.id DESC) FROM picked JOIN items i USING (id)) AS items`,
    p.values,
  );
  const [row] = rows;
  if (!row) throw new Error('a scan has no row');
  return { ...row, items: (row.items ?? []).map(scannedItemOf) };
}

/** The facts for the diagnosis of a live item. An ended item has no open tasks and no hold. */
const RUNNING = `(SELECT to_jsonb(t) FROM (
  SELECT t.stage, t.unit, t.attempt, COALESCE(w.name, t.worker) AS worker, t.started_at, t.beat_at, COALESCE(w.seen_gone_at, w.stopped_at) AS worker_gone_at
  FROM tasks t LEFT JOIN workers w ON w.id = t.worker
  WHERE i.ended_at IS NULL AND t.item_id = i.id AND t.visit = i.visit AND t.status = 'running'
  ORDER BY t.beat_at DESC, t.stage, t.unit LIMIT 1) t)`;
const WAITING = `(SELECT to_jsonb(t) FROM (
  SELECT stage, unit, attempt, crashes, crashes >= ${SUSPECT_CRASHES} AS is_suspect, retry_at, error_class, error_message
  FROM tasks WHERE i.ended_at IS NULL AND item_id = i.id AND visit = i.visit AND status = 'waiting'
  ORDER BY retry_at NULLS LAST, position LIMIT 1) t)`;
const HOLD = `CASE WHEN i.ended_at IS NULL THEN (SELECT to_jsonb(h) FROM (${HOLD_OF_ITEM}) h) END`;

type Columns = Record<string, unknown>;

interface Row extends Omit<Scan, 'items'> {
  items: { item: Columns; running: Columns | null; waiting: Columns | null; hold: Columns | null }[] | null;
}

function scannedItemOf({ item, running, waiting, hold }: NonNullable<Row['items']>[number]): ScannedItem {
  return {
    item: fieldsOf<ItemRecord>(item),
    running: running && runningTaskOf(fieldsOf<InflightTask & Pick<RunningTask, 'workerGoneAt'>>(running)),
    waiting: waiting && waitingTaskOf(fieldsOf(waiting)),
    hold: hold && fieldsOf<Hold>(hold),
  };
}
