import type { Hold, ItemFacts, RunningTask, WaitingTask } from '../../core/diagnosis.js';
import { SUSPECT_CRASHES } from '../spine/claim/suspects.js';
import { type Attempt, type AuditEntry, type Item, Prisma, type Receipt, type Task } from '../generated/client.js';
import { HOLD_OF_ITEM } from '../spine/hold.js';
import type { Prisma as Client } from '../postgres/prisma.js';

/** The latest lines of the timeline, and the most running tasks and receipts, that are shown. A reader looks at no
 *  more. */
const TIMELINE_LINES = 200;
const INFLIGHT_SHOWN = 50;
const RECEIPTS_SHOWN = 50;

export type ItemRecord = Omit<Item, 'pausedUntil'> & Pick<ItemFacts, 'pausedUntil'>;
export type InflightTask = Pick<
  Task,
  'stage' | 'unit' | 'attempt' | 'worker' | 'startedAt' | 'beatAt' | 'progress' | 'errorClass' | 'errorMessage'
>;

/** Everything that is known of one item at one moment. */
export interface ItemView {
  now: Date;
  item: ItemRecord;
  /** Latest first, like the attempts. */
  audit: AuditEntry[];
  attempts: Attempt[];
  timelineTruncated: boolean;
  inflight: InflightTask[];
  inflightCount: number;
  /** Latest first. */
  receipts: Receipt[];
  /** The tasks of the current visit. */
  tasks: { stage: string; status: string; count: number }[];
  running: RunningTask | null;
  waiting: WaitingTask | null;
  hold: Hold | null;
}

/** The columns that permissions are decided on. */
export type ItemHead = Pick<Item, 'id' | 'pipeline' | 'owner' | 'state'>;

export async function findItemHead(prisma: Client, id: string): Promise<ItemHead | null> {
  return prisma.item.findUnique({ where: { id }, select: { id: true, pipeline: true, owner: true, state: true } });
}

/** Reads one snapshot with one statement: a row read before a move and tasks read after it would contradict each other.
 *  This is the most frequent read, and a dozen reads in a transaction cost twice as much. */
export async function findItemView(prisma: Client, id: string): Promise<ItemView | null> {
  const [row] = await prisma.$queryRaw<Row[]>`
    SELECT now() AS now, to_jsonb(i) AS item,
      (SELECT json_agg(to_jsonb(a)) FROM (
        SELECT * FROM audit WHERE item_id = i.id ORDER BY id DESC LIMIT ${TIMELINE_LINES + 1}) a) AS audit,
      (SELECT json_agg(to_jsonb(a)) FROM (
        SELECT * FROM attempts WHERE item_id = i.id ORDER BY id DESC LIMIT ${TIMELINE_LINES + 1}) a) AS attempts,
      (SELECT json_agg(to_jsonb(r)) FROM (
        SELECT * FROM receipts WHERE item_id = i.id ORDER BY id DESC LIMIT ${RECEIPTS_SHOWN}) r) AS receipts,
      (SELECT json_agg(to_jsonb(t)) FROM (
        SELECT stage, status, count(*)::int AS count FROM tasks
        WHERE item_id = i.id AND visit = i.visit GROUP BY stage, status ORDER BY stage, status) t) AS tasks,
      (SELECT json_agg(to_jsonb(t)) FROM (
        SELECT t.stage, t.unit, t.attempt, COALESCE(w.name, t.worker) AS worker, t.started_at, t.beat_at, t.progress,
          t.error_class, t.error_message, COALESCE(w.seen_gone_at, w.stopped_at) AS worker_gone_at
        FROM tasks t LEFT JOIN workers w ON w.id = t.worker
        WHERE t.item_id = i.id AND t.visit = i.visit AND t.status = 'running'
        ORDER BY t.beat_at DESC, t.stage, t.unit LIMIT ${INFLIGHT_SHOWN}) t) AS running,
      (SELECT to_jsonb(t) FROM (
        SELECT stage, unit, attempt, crashes, crashes >= ${SUSPECT_CRASHES} AS is_suspect, retry_at, error_class, error_message
        FROM tasks WHERE item_id = i.id AND visit = i.visit AND status = 'waiting'
        ORDER BY retry_at NULLS LAST, position LIMIT 1) t) AS waiting,
      (SELECT to_jsonb(h) FROM (
        ${Prisma.raw(HOLD_OF_ITEM)}) h) AS hold
    FROM items i WHERE i.id = ${id}::uuid`;
  return row ? viewOf(row) : null;
}

type Columns = Record<string, unknown>;

interface Row {
  now: Date;
  item: Columns;
  audit: Columns[] | null;
  attempts: Columns[] | null;
  receipts: Columns[] | null;
  tasks: ItemView['tasks'] | null;
  running: Columns[] | null;
  waiting: Columns | null;
  hold: Columns | null;
}

function viewOf(row: Row): ItemView {
  const item = fieldsOf<ItemRecord>(row.item);
  const audit = (row.audit ?? []).map(fieldsOf<AuditEntry>);
  const attempts = (row.attempts ?? []).map(fieldsOf<Attempt>);
  const tasks = row.tasks ?? [];
  return {
    now: row.now,
    item,
    audit: audit.slice(0, TIMELINE_LINES),
    attempts: attempts.slice(0, TIMELINE_LINES),
    timelineTruncated: audit.length > TIMELINE_LINES || attempts.length > TIMELINE_LINES,
    receipts: (row.receipts ?? []).map(fieldsOf<Receipt>),
    tasks,
    ...(item.endedAt ? NOTHING_OPEN : openOf(row, tasks)),
  };
}

type Open = Pick<ItemView, 'inflight' | 'inflightCount' | 'running' | 'waiting' | 'hold'>;

/** An ended item may still have a task that is marked running. That attempt is a zombie and is not shown. */
const NOTHING_OPEN: Open = { inflight: [], inflightCount: 0, running: null, waiting: null, hold: null };

function openOf(row: Row, tasks: ItemView['tasks']): Open {
  const running = (row.running ?? []).map(fieldsOf<InflightTask & Pick<RunningTask, 'workerGoneAt'>>);
  const [freshest] = running;
  return {
    inflight: running,
    inflightCount: tasks.reduce((sum, each) => sum + (each.status === 'running' ? each.count : 0), 0),
    running: freshest ? runningTaskOf(freshest) : null,
    waiting: row.waiting && waitingTaskOf(fieldsOf(row.waiting)),
    hold: row.hold && fieldsOf<Hold>(row.hold),
  };
}

export function runningTaskOf(task: InflightTask & Pick<RunningTask, 'workerGoneAt'>): RunningTask {
  // A claim writes both times; the columns are empty only before the first claim.
  const startedAt = task.startedAt ?? new Date(0);
  return { ...task, startedAt, beatAt: task.beatAt ?? startedAt };
}

export function waitingTaskOf(
  task: Omit<WaitingTask, 'error'> & Pick<Task, 'errorClass' | 'errorMessage'>,
): WaitingTask {
  const { errorClass, errorMessage } = task;
  return { ...task, error: errorClass === null ? null : { class: errorClass, message: errorMessage ?? '' } };
}

/** Turns columns in JSON into fields with the names and types of Prisma's models. Postgres' `infinity` stays that
 *  word. */
export function fieldsOf<Fields>(columns: Columns): Fields {
  const entries = Object.entries(columns).map(([column, value]) => {
    const name = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    const isTime = /(^|_)(at|after|until)$/.test(column) && typeof value === 'string' && value !== 'infinity';
    return [name, isTime ? new Date(value) : value];
  });
  return Object.fromEntries(entries) as Fields;
}
