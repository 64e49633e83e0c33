import { type Attempt, type AuditEntry, type Item, Prisma, type Receipt, type Task } from '../generated/client.js';
import { type Columns, fieldsOf } from '../postgres/fields-of.js';
import type { Prisma as Client } from '../postgres/prisma.js';
import { ROW_FACTS, type RowColumns, type RowFacts, rowFactsOf } from '../recovery/row-facts.js';

/** The latest lines of the timeline, and the most running tasks and receipts, that are shown. A reader looks at no
 *  more. */
const TIMELINE_LINES = 200;
const INFLIGHT_SHOWN = 50;
const RECEIPTS_SHOWN = 50;

type InflightTask = Pick<
  Task,
  | ('stage' | 'unit' | 'attempt' | 'worker' | 'startedAt' | 'beatAt' | 'progress' | 'errorClass' | 'errorMessage')
  | 'isolated'
>;

/** Everything that is known of one item at one moment. */
export interface ItemView extends RowFacts {
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
    SELECT ${Prisma.raw(ROW_FACTS)},
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
          t.error_class, t.error_message, t.isolated
        FROM tasks t LEFT JOIN workers w ON w.id = t.worker
        WHERE i.ended_at IS NULL AND t.item_id = i.id AND t.visit = i.visit AND t.status = 'running'
        ORDER BY t.beat_at DESC, t.stage, t.unit LIMIT ${INFLIGHT_SHOWN}) t) AS inflight
    FROM items i WHERE i.id = ${id}::uuid`;
  return row ? viewOf(row) : null;
}

interface Row extends RowColumns {
  audit: Columns[] | null;
  attempts: Columns[] | null;
  receipts: Columns[] | null;
  tasks: ItemView['tasks'] | null;
  inflight: Columns[] | null;
}

function viewOf(row: Row): ItemView {
  const facts = rowFactsOf(row);
  const audit = (row.audit ?? []).map(fieldsOf<AuditEntry>);
  const attempts = (row.attempts ?? []).map(fieldsOf<Attempt>);
  const tasks = row.tasks ?? [];
  return {
    ...facts,
    audit: audit.slice(0, TIMELINE_LINES),
    attempts: attempts.slice(0, TIMELINE_LINES),
    timelineTruncated: audit.length > TIMELINE_LINES || attempts.length > TIMELINE_LINES,
    receipts: (row.receipts ?? []).map(fieldsOf<Receipt>),
    tasks,
    inflight: (row.inflight ?? []).map(fieldsOf<InflightTask>),
    inflightCount: facts.item.endedAt
      ? 0
      : tasks.reduce((sum, each) => sum + (each.status === 'running' ? each.count : 0), 0),
  };
}
