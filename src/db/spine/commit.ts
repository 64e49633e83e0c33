import type pg from 'pg';
import type { Pipeline } from '../../core/pipeline.js';
import type { Step } from '../../core/step.js';
import type { Sql, Statement } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { type Claimed, taskKey } from './attempt.js';
import { concernsBreaker, tellBreakers } from '../recovery/breaker-report.js';
import { inTransaction, prepared } from '../postgres/client.js';
import { type Ending, type Plan, planOf } from './commit-plan.js';
import { IS_LIVE, lockItem } from './item-row.js';
import { stepOf } from './next-step.js';
import { drawnFrom, Parameters, storableJson } from '../postgres/parameters.js';
import { IS_RUNNING } from './task-row.js';
import { toldOfFailedRun } from '../recovery/tell-of-end.js';
import { recordTransition, transitionParts } from './transition.js';

export type { Ending } from './commit-plan.js';

export type Committed = { step: Step } | { refused: 'superseded' };

/** Ends an attempt: the stage's save, the task's outcome, the attempt's record, the move and its audit entry, together or
 *  not at all, and only if state, visit, epoch, fence and claim are this attempt's. Returns what comes next. */
export async function commitAttempt(
  pool: pg.Pool,
  pipeline: Pipeline,
  claimed: Claimed,
  ending: Ending,
): Promise<Committed> {
  const plan = planOf(pipeline, claimed, ending);
  const tells = concernsBreaker(pipeline, claimed, ending);
  if (isWhole(plan) && !tells) return (await writeEnding(pool, pipeline, claimed, plan)) ?? REFUSED;
  return inTransaction(pool, async (transaction) => {
    const write = isWhole(plan) ? writeEnding : commitInParts;
    const committed = await write(transaction, pipeline, claimed, plan);
    if (committed && tells) await tellBreakers(transaction, pipeline, claimed, ending);
    return committed ?? REFUSED;
  });
}

const REFUSED: Committed = { refused: 'superseded' };

/** One statement writes all of it. */
function isWhole(plan: Plan): boolean {
  return typeof plan.save !== 'function' && !plan.asksRow;
}

async function commitInParts(
  transaction: Sql,
  pipeline: Pipeline,
  claimed: Claimed,
  plan: Plan,
): Promise<Committed | null> {
  const { save, move } = plan;
  const holds = await writeEnding(transaction, pipeline, claimed, {
    ...plan,
    move: null,
    save: undefined,
    inParts: true,
  });
  if (!holds) return null;
  const facts = typeof save === 'function' ? await save(transaction) : undefined;
  if (typeof save === 'object') await saveBehindGuard(transaction, claimed, save);
  if (facts) await addToNote(transaction, claimed, facts);
  if (plan.asksRow) {
    const item = await lockItem(transaction, claimed.itemId);
    if (!item) throw new Error(`item ${claimed.itemId} vanished while it was locked`);
    return { step: await stepOf(transaction, pipeline, item) };
  }
  const expected = { itemId: claimed.itemId, state: claimed.state, visit: claimed.visit, epoch: claimed.epoch };
  const noted = move && { ...move, metadata: { ...move.metadata, ...facts } };
  if (noted && !(await recordTransition(transaction, pipeline, expected, noted))) {
    throw new Error(`item ${claimed.itemId} moved while it was locked`);
  }
  return { step: plan.step };
}

/** Read again where the row says what comes next. */
async function addToNote(transaction: Sql, claimed: Claimed, facts: JsonObject): Promise<void> {
  await transaction.query(
    `UPDATE tasks SET note = COALESCE(note, '{}') || $5::jsonb
     WHERE item_id = $1 AND visit = $2 AND stage = $3 AND unit = $4`,
    [...taskKey(claimed), storableJson(facts)],
  );
}

/** The save finds the same `guard` as in the one statement. */
async function saveBehindGuard(transaction: Sql, claimed: Claimed, save: Statement): Promise<void> {
  const p = new Parameters();
  const [itemId, visit, stage, unit] = taskKey(claimed).map((each) => p.add(each));
  await transaction.query(
    `WITH guard AS (SELECT ${GUARD} FROM tasks t WHERE item_id = ${itemId} AND visit = ${visit} AND stage = ${stage} AND unit = ${unit}),
       saved AS (${p.embed(drawnFrom('guard', save))}) SELECT 1`,
    p.values,
  );
}

/** What a save may draw from: the task that it belongs to. */
const GUARD = 't.item_id, t.visit, t.stage, t.unit, t.attempt, t.fence, t.worker, t.started_at';

/** One statement. Every part draws from `guard`, which is empty unless this attempt still holds its task. */
async function writeEnding(sql: Sql, pipeline: Pipeline, claimed: Claimed, plan: Plan): Promise<Committed | null> {
  const p = new Parameters();
  const [id, visit] = [p.add(claimed.itemId), p.add(claimed.visit)];
  const parts = [
    `item AS (
      SELECT id FROM items
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
      INSERT INTO attempts (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result, error_class, error_message)
      SELECT item_id, ${p.add(pipeline.name)}, visit, stage, unit, attempt, fence, worker, started_at, ${p.add(plan.result)},
        ${p.orNull(plan.error?.class)}::text, ${p.orNull(plan.error?.message)}::text FROM guard
    )`,
  ];
  if (plan.save && typeof plan.save !== 'function') parts.push(`saved AS (${p.embed(drawnFrom('guard', plan.save))})`);
  if (plan.feeds) {
    parts.push(`fed AS (
      INSERT INTO tasks (item_id, visit, stage, unit, position)
      SELECT guard.item_id, guard.visit, ${p.add(plan.feeds.stage)}, u.unit, u.position
      FROM guard, unnest(${p.add(plan.feeds.units)}::text[]) WITH ORDINALITY AS u (unit, position)
      ON CONFLICT DO NOTHING
    )`);
  }
  if (plan.move) parts.push(transitionParts(pipeline, plan.move, p));
  else if (writesItem(claimed, plan)) parts.push(`noted AS (${notedError(plan, p)})`);
  if (plan.leaves && plan.error) {
    parts.push(toldOfFailedRun({ pipeline: pipeline.name, epoch: claimed.epoch, error: plan.error }, p));
  }
  const [committed] = await prepared<{ fence: number }>(
    sql,
    `WITH ${parts.join(',\n')} SELECT fence FROM guard`,
    p.values,
  );
  return committed ? { step: plan.step } : null;
}

/** A unit shares the item with its siblings and never writes it, whatever its save takes. */
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
    'suspect = false',
  ];
  if (plan.status !== 'waiting') all.push('ended_at = now()');
  // Why, the next claim knows: see recordGivenBack.
  if (plan.result === 'superseded') all.push('recovering = true');
  if (plan.error) {
    all.push(
      'errors = t.errors + 1',
      `error_class = ${p.add(plan.error.class)}`,
      `error_message = ${p.add(plan.error.message)}`,
      `retry_at = now() + ${p.add(plan.retryInMs)} * interval '1 millisecond'`,
    );
  }
  return all.join(', ');
}

/** A unit writes its task only; what its item shows of a failed one is read from the tasks. */
function writesItem(claimed: Claimed, plan: Plan): boolean {
  return plan.error !== null && claimed.unit === '';
}

function notedError(plan: Plan, p: Parameters): string {
  const ended = plan.leaves ? ', run_ended_at = now()' : '';
  return `UPDATE items SET error_class = ${p.add(plan.error?.class)}, error_message = ${p.add(plan.error?.message)},
      error_stage = ${p.add(plan.error?.stage)}, updated_at = now()${ended} FROM guard WHERE items.id = guard.item_id`;
}
