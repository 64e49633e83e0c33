import type pg from 'pg';
import type { Pipeline } from '../../core/pipeline.js';
import { type Step, withPriority } from '../../core/step.js';
import type { Sql, Statement } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { inTransaction, queryPrepared } from '../postgres/client.js';
import { checkSource, Parameters, storableJson } from '../postgres/parameters.js';
import { awaitsResult, lookForStorm, tellBreakers } from '../recovery/breaker-report.js';
import { tellOfFailedRun } from '../recovery/tell-of-end.js';
import { type Claimed, type Ending, taskKey } from './attempt.js';
import { type Plan, planOf } from './commit-plan.js';
import { IS_LIVE, lockItem } from './item-row.js';
import { stepOf } from './next-step.js';
import { GUARD, IS_RUNNING } from './task-row.js';
import { moveLocked, transitionParts } from './transition.js';

/** The run's next step, or the answer that another attempt holds the task or the item has moved on: nothing was written. */
export type Committed = Step | 'superseded';

/** Ends an attempt: the stage's save, the task's outcome, the attempt's record, the move and its audit entry, together or
 *  not at all, and only if state, visit, epoch, fence and claim are this attempt's. The folder test/db/spine/commit-statement
 *  shows the whole statement. */
export async function commitAttempt(
  pool: pg.Pool,
  pipeline: Pipeline,
  claimed: Claimed,
  ending: Ending,
): Promise<Committed> {
  const committed = await writePlan(pool, pipeline, claimed, ending);
  if (committed !== 'superseded') await lookForStorm(pool, pipeline, claimed, ending);
  return committed;
}

async function writePlan(pool: pg.Pool, pipeline: Pipeline, claimed: Claimed, ending: Ending): Promise<Committed> {
  const plan = planOf(pipeline, claimed, ending);
  const tells = awaitsResult(claimed, ending);
  if (isWhole(plan) && !tells) return writeEnding(pool, pipeline, claimed, plan);
  return inTransaction(pool, async (transaction) => {
    const write = isWhole(plan) ? writeEnding : commitInParts;
    const committed = await write(transaction, pipeline, claimed, plan);
    if (committed !== 'superseded' && tells) await tellBreakers(transaction, pipeline, claimed, ending);
    return committed;
  });
}

/** Whether one statement writes the whole plan. */
function isWhole(plan: Plan): boolean {
  return typeof plan.save !== 'function' && !plan.asksRow;
}

async function commitInParts(transaction: Sql, pipeline: Pipeline, claimed: Claimed, plan: Plan): Promise<Committed> {
  const { save, move } = plan;
  const first: Plan = { ...plan, move: null, save: undefined, inParts: true };
  const committed = await writeEnding(transaction, pipeline, claimed, first);
  if (committed === 'superseded') return committed;
  const facts = typeof save === 'function' ? await save(transaction) : undefined;
  if (typeof save === 'object') await saveBehindGuard(transaction, claimed, save);
  if (facts) await addToNote(transaction, claimed, facts);
  if (plan.asksRow) {
    const item = await lockItem(transaction, claimed.itemId);
    if (!item) throw new Error(`item ${claimed.itemId} vanished while it was locked`);
    return stepOf(transaction, pipeline, item);
  }
  if (move) {
    const noted = { ...move, metadata: { ...move.metadata, ...facts } };
    await moveLocked(transaction, pipeline, { ...claimed, id: claimed.itemId }, noted);
  }
  return committed;
}

/** `stepOf` reads the note again where the row says what comes next. */
async function addToNote(transaction: Sql, claimed: Claimed, facts: JsonObject): Promise<void> {
  await transaction.query(
    `UPDATE tasks SET note = COALESCE(note, '{}') || $5::jsonb
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4`,
    [...taskKey(claimed), storableJson(facts)],
  );
}

/** The save finds the same `guard` as where one statement writes everything. */
async function saveBehindGuard(transaction: Sql, claimed: Claimed, save: Statement): Promise<void> {
  const p = new Parameters();
  const [itemId, visit, stage, unit] = taskKey(claimed).map((each) => p.add(each));
  await transaction.query(
    `WITH guard AS (SELECT ${GUARD} FROM tasks t WHERE item_id = ${itemId} AND visit = ${visit} AND stage = ${stage} AND unit = ${unit}),
       saved AS (${p.embed(checkSource('guard', save))}) SELECT 1`,
    p.values,
  );
}

/** One statement. Every part draws from `guard`, which is empty unless this attempt still holds its task. */
async function writeEnding(sql: Sql, pipeline: Pipeline, claimed: Claimed, plan: Plan): Promise<Committed> {
  const p = new Parameters();
  const [id, visit] = [p.add(claimed.itemId), p.add(claimed.visit)];
  const parts = [
    `item AS (
      SELECT id, priority FROM items
      WHERE id = ${id} AND visit = ${visit} AND state = ${p.add(claimed.state)}
        AND epoch = ${p.add(claimed.epoch)} AND ${IS_LIVE}
      ${lockOf(claimed, plan)}
    )`,
    `guard AS (
      UPDATE tasks t SET ${taskAssignments(plan, p)} FROM item
      WHERE t.item_id = ${id} AND t.visit = ${visit} AND t.stage = ${p.add(claimed.stage)} AND t.unit = ${p.add(claimed.unit)}
        AND t.fence = ${p.add(claimed.fence)} AND t.claim_id = ${p.add(claimed.claimId)} AND ${IS_RUNNING}
      RETURNING ${GUARD}
    )`,
    `ended AS (
      INSERT INTO attempts (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result, outcome, error_class, error_message${claimed.isolated ? ', isolated' : ''})
      SELECT item_id, ${p.add(pipeline.name)}, visit, stage, unit, attempt, fence, worker, started_at, ${p.add(plan.result)},
        ${p.orNull(plan.result === 'done' ? plan.outcome : null)}::text,
        ${p.orNull(plan.error?.class)}::text, ${p.orNull(plan.error?.message)}::text${claimed.isolated ? ', true' : ''} FROM guard
    )`,
  ];
  if (plan.save && typeof plan.save !== 'function')
    parts.push(`saved AS (${p.embed(checkSource('guard', plan.save))})`);
  if (plan.feeds) {
    parts.push(`fed AS (
      INSERT INTO tasks (item_id, visit, stage, unit, position)
      SELECT guard.item_id, guard.visit, ${p.add(plan.feeds.stage)}, u.unit, u.position
      FROM guard, unnest(${p.add(plan.feeds.units)}::text[]) WITH ORDINALITY AS u (unit, position)
      ON CONFLICT DO NOTHING
    )`);
  }
  if (plan.move) parts.push(transitionParts(pipeline, plan.move, p));
  else if (writesItem(claimed, plan)) parts.push(`noted AS (${noteError(plan, p)})`);
  if (plan.leaves && plan.error) {
    parts.push(tellOfFailedRun({ pipeline: pipeline.name, epoch: claimed.epoch, error: plan.error }, p));
  }
  const [committed] = await queryPrepared<{ priority: number }>(
    sql,
    `WITH ${parts.join(',\n')} SELECT item.priority FROM guard, item`,
    p.values,
  );
  return committed ? withPriority(plan.step, committed.priority) : 'superseded';
}

/** A unit shares the item with its siblings and never writes it, whatever locks its save takes. */
function lockOf(claimed: Claimed, plan: Plan): string {
  if (claimed.unit !== '') return 'FOR SHARE';
  return plan.move || plan.error || plan.inParts ? 'FOR NO KEY UPDATE' : 'FOR SHARE';
}

function taskAssignments(plan: Plan, p: Parameters): string {
  const all = [
    `status = ${p.add(plan.status)}`,
    `outcome = ${p.add(plan.outcome)}`,
    `note = ${p.orNull(plan.note && storableJson(plan.note))}::jsonb`,
    'token = NULL',
    'isolated = false',
  ];
  if (plan.status !== 'waiting') all.push('ended_at = now()');
  // The next claim finds out why the task was given back: see recordGivenBack.
  if (plan.result === 'superseded') all.push('recovering = true');
  if (plan.error) {
    if (plan.spendsTry) all.push('errors = t.errors + 1');
    all.push(
      `error_class = ${p.add(plan.error.class)}`,
      `error_message = ${p.add(plan.error.message)}`,
      `retry_at = now() + ${p.add(plan.retryInMs)} * interval '1 millisecond'`,
    );
  }
  return all.join(', ');
}

/** A unit writes its task only. The failed units that an item shows are read from its tasks. */
function writesItem(claimed: Claimed, plan: Plan): boolean {
  return plan.error !== null && claimed.unit === '';
}

function noteError(plan: Plan, p: Parameters): string {
  const ended = plan.leaves ? ', run_ended_at = now()' : '';
  return `UPDATE items SET error_class = ${p.add(plan.error?.class)}, error_message = ${p.add(plan.error?.message)},
      error_stage = ${p.add(plan.error?.stage)}, updated_at = now()${ended} FROM guard WHERE items.id = guard.item_id`;
}
