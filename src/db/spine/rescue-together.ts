import type pg from 'pg';
import { diagnose } from '../../core/diagnosis.js';
import { rescuedState } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { backoffMs, rescuesCounted } from '../../core/rescue-budget.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import { Parameters, storableText } from '../postgres/parameters.js';
import { HAS_OPEN_RECEIPT } from '../recovery/receipts.js';
import { ROW_FACTS, type RowColumns, type RowFacts, rowFactsOf } from '../recovery/row-facts.js';
import { stuckCondition } from '../recovery/stuck.js';
import { type Actor, transitionParts } from './transition.js';

export interface TogetherRequest {
  /** Items that were seen as stuck. Those that have moved since are left alone. */
  ids: readonly string[];
  actor: Actor;
  /** The runs are started one after the other at this distance, the first of them after so many others. */
  pace: { everyMs: number; behind: number };
}

export interface RescuedTogether {
  rescued: string[];
  /** Items whose budget of rescues is spent. */
  spent: string[];
}

/** Rescues stuck items as `rescueItem` does, many with each statement: in the same visit, with the epoch raised, a receipt and an audit
 *  entry each. The dispatcher starts their runs, at the pace. All are rescued or none. */
export async function rescueTogether(
  pool: pg.Pool,
  pipeline: Pipeline,
  request: TogetherRequest,
): Promise<RescuedTogether> {
  return inTransaction(pool, async (transaction) => {
    const stuck = await lockStuck(transaction, pipeline, request.ids);
    const spent = stuck.filter(({ item, now }) => rescuesCounted(pipeline, item, now) >= pipeline.rescue.budget);
    const left = stuck.filter((each) => !spent.includes(each));
    if (left.length > 0) await rescueLocked(transaction, pipeline, left, request);
    const idsOf = (rows: readonly RowFacts[]) => rows.map(({ item }) => item.id);
    return { rescued: idsOf(left), spent: idsOf(spent) };
  });
}

/** Locked in a statement of its own, before the moves take tasks from their attempts, so that the moves see every claim there was. An
 *  item that another transaction is writing is not stuck. */
async function lockStuck(transaction: Sql, pipeline: Pipeline, ids: readonly string[]): Promise<RowFacts[]> {
  const p = new Parameters();
  const { rows } = await transaction.query<RowColumns>(
    `SELECT ${ROW_FACTS} FROM (
       SELECT * FROM items i WHERE i.id = ANY (${p.add(ids)}::uuid[]) AND ${stuckCondition(pipeline, p)}
       ORDER BY i.id FOR NO KEY UPDATE SKIP LOCKED
     ) i`,
    p.values,
  );
  return rows.map(rowFactsOf);
}

async function rescueLocked(
  transaction: Sql,
  pipeline: Pipeline,
  stuck: readonly RowFacts[],
  { actor, pace }: TogetherRequest,
): Promise<void> {
  await writeReceipts(transaction, pipeline, stuck, actor);
  const ids = stuck.map(({ item }) => item.id);
  await transaction.query(
    `UPDATE tasks SET errors = 0, rescues = tasks.rescues + 1, retry_at = NULL, scheduled_at = NULL,
       recovering = recovering AND ${HAS_OPEN_RECEIPT}
     FROM items i WHERE i.id = ANY ($1::uuid[]) AND item_id = i.id AND tasks.visit = i.visit AND status = ANY (ARRAY['waiting', 'running'])`,
    [ids],
  );
  for (const group of groupAlike(pipeline, stuck)) await moveAlike(transaction, pipeline, group, actor);
  await transaction.query(
    `UPDATE items SET start_after = now() + ($2 + n - 1) * $3 * interval '1 millisecond'
     FROM unnest($1::uuid[]) WITH ORDINALITY AS o (item_id, n) WHERE id = item_id`,
    [ids, pace.behind, pace.everyMs],
  );
}

async function writeReceipts(
  transaction: Sql,
  pipeline: Pipeline,
  stuck: readonly RowFacts[],
  actor: Actor,
): Promise<void> {
  const causes = stuck.map((facts) => diagnose({ ...facts, pipeline }));
  await transaction.query(
    `INSERT INTO receipts (item_id, pipeline, state, visit, epoch, reason, sentence, last_sign_at, seen_at, acted_at, stages_again,
       actor, actor_type, result)
     SELECT i.id, i.pipeline, i.state, i.visit, i.epoch + 1, c.reason, c.sentence, greatest(i.beat_at, (
         SELECT max(t.beat_at) FROM tasks t WHERE t.item_id = i.id AND t.visit = i.visit AND t.status = 'running')), now(), now(), ARRAY(
         SELECT t.stage FROM tasks t
         WHERE t.item_id = i.id AND t.visit = i.visit AND t.status = ANY (ARRAY['waiting', 'running']) AND t.attempt > 0
         GROUP BY t.stage ORDER BY min(t.started_at)), $4, $5, 'waiting'
     FROM unnest($1::uuid[], $2::text[], $3::text[]) AS c (item_id, reason, sentence) JOIN items i ON i.id = c.item_id`,
    [
      stuck.map(({ item }) => item.id),
      causes.map(({ reason }) => reason),
      causes.map(({ sentence }) => storableText(sentence)),
      ...[actor.id, actor.type],
    ],
  );
}

/** Items that make the same move: from one state, after as many rescues. */
interface Alike {
  state: string;
  before: number;
  ids: string[];
}

function groupAlike(pipeline: Pipeline, stuck: readonly RowFacts[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const { item, now } of stuck) {
    const before = rescuesCounted(pipeline, item, now);
    const key = `${item.state} ${before}`;
    const group = groups.get(key) ?? { state: item.state, before, ids: [] };
    group.ids.push(item.id);
    groups.set(key, group);
  }
  return [...groups.values()];
}

async function moveAlike(
  transaction: Sql,
  pipeline: Pipeline,
  { state: from, before, ids }: Alike,
  actor: Actor,
): Promise<void> {
  const p = new Parameters();
  const guard = `guard AS (SELECT id AS item_id FROM items WHERE id = ANY (${p.add(ids)}::uuid[]))`;
  const parts = transitionParts(
    pipeline,
    {
      ...{
        from,
        to: rescuedState(pipeline, from),
        via: 'rescue',
        trigger: 'rescue',
        actor,
        metadata: { together: true },
      },
      rescue: { count: before + 1, againAfterMs: backoffMs(pipeline, before) },
    },
    p,
  );
  const { rows } = await transaction.query<{ moved: number }>(
    `WITH ${guard}, ${parts} SELECT count(*)::int AS moved FROM moved`,
    p.values,
  );
  if (rows[0]?.moved !== ids.length) throw new Error('an item moved while it was locked');
}
