import type { ErrorClass } from '../../core/error-class.js';
import { claimedState, isAwaits, isEnd, isLegalMove, isRests, rowOf, type Via } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { entryStep } from '../../core/step.js';
import type { Sql } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { queryPrepared } from '../postgres/client.js';
import { Parameters, storableJson, storableText } from '../postgres/parameters.js';
import { tellOfEnd } from '../recovery/tell-of-end.js';
import type { ItemRow } from './item-row.js';

export interface Actor {
  id: string;
  type: 'system' | 'worker' | 'user' | 'reviewer' | 'admin';
}
export const SYSTEM: Actor = { id: 'system', type: 'system' };
export const WORKER: Actor = { id: 'worker', type: 'worker' };

export interface ItemError {
  class: ErrorClass;
  message: string;
  stage: string;
}

/** A move of an item, or (from = to) a change of its flags that must be as exact as a move. */
export interface Move {
  from: string;
  to: string;
  via: Via;
  trigger: string;
  actor: Actor;
  metadata?: JsonObject;
  /** Why the item ended, in the word that its owner sees: CANCELLED, POISON, … */
  reason?: string;
  error?: ItemError;
  /** Of a rescue: how many rescues there were, counting this one, and how long the item is left alone after it. */
  rescue?: { count: number; againAfterMs: number };
  /** Of a pause: when it ends. */
  pausedUntil?: Date | 'infinity';
  priority?: number;
  /** Of another priority: a new run takes the place of the run that waits. */
  restarts?: boolean;
}

/** The row as the mover saw it. Nothing happens if the row says otherwise by now. */
export interface Expected {
  itemId: string;
  state: string;
  visit: number;
  epoch: number;
}

export interface Moved {
  version: number;
  visit: number;
  epoch: number;
}

/** The API wakes the run at once after a decision, a cancel or a pause. The dispatcher repeats the wake after this long. */
const WAKE_GRACE = `interval '2 seconds'`;

/** The only statement that changes `items.state`. Null: the row was no longer as expected. */
export async function recordTransition(
  sql: Sql,
  pipeline: Pipeline,
  expected: Expected,
  move: Move,
): Promise<Moved | null> {
  const p = new Parameters();
  const text = `
    WITH guard AS (
      SELECT id AS item_id FROM items
      WHERE id = ${p.add(expected.itemId)} AND state = ${p.add(expected.state)}
        AND visit = ${p.add(expected.visit)} AND epoch = ${p.add(expected.epoch)}
      FOR NO KEY UPDATE
    ), ${transitionParts(pipeline, move, p)}
    SELECT version, visit, epoch FROM moved`;
  const [moved] = await queryPrepared<Moved>(sql, text, p.values);
  return moved ?? null;
}

/** Moves an item whose row this transaction has locked and read, so that the row must still be as it was read. */
export async function moveLocked(
  transaction: Sql,
  pipeline: Pipeline,
  { id: itemId, state, visit, epoch }: Pick<ItemRow, 'id' | 'state' | 'visit' | 'epoch'>,
  move: Move,
): Promise<Moved> {
  const moved = await recordTransition(transaction, pipeline, { itemId, state, visit, epoch }, move);
  if (!moved) throw new Error(`item ${itemId} moved while it was locked`);
  return moved;
}

/** The move and its audit entry, as parts of a larger statement whose `guard` names the item or is empty. */
export function transitionParts(pipeline: Pipeline, move: Move, p: Parameters): string {
  if (!isLegalMove(pipeline, move)) {
    throw new RangeError(`'${pipeline.name}' has no move ${move.from} → ${move.to} by ${move.via}`);
  }
  return `${takesTasks(move.via) ? `${takeTasks(pipeline, p)}, ` : ''}moved AS (
      UPDATE items i SET ${assignmentsOf(pipeline, move, p).join(', ')}
      FROM guard WHERE i.id = guard.item_id
      RETURNING i.id, i.owner, i.version, i.visit, i.epoch
    ), entry AS (
      INSERT INTO audit (item_id, pipeline, owner, version, visit, epoch, from_state, to_state, trigger, actor, actor_type, metadata)
      SELECT id, ${p.add(pipeline.name)}, owner, version, visit, epoch, ${p.add(move.from)}, ${p.add(move.to)}, ${p.add(move.trigger)},
        ${p.add(move.actor.id)}, ${p.add(move.actor.type)}, ${p.add(storableJson(move.metadata ?? {}))}::jsonb
      FROM moved
    )${move.via === 'note' ? '' : tellOfEnd(pipeline, move, p)}`;
}

function assignmentsOf(pipeline: Pipeline, move: Move, p: Parameters): string[] {
  const all = ['version = i.version + 1', 'updated_at = now()'];
  if (move.via === 'note') return all;
  if (move.via === 'pause') {
    return [...all, `paused_until = ${p.add(move.pausedUntil)}`, `pause_reason = ${p.add(move.reason)}`, WAKE];
  }
  if (move.via === 'reprioritize') {
    return [...all, `priority = ${p.add(move.priority)}`, ...(move.restarts ? nextRunOf(pipeline, move.to) : [])];
  }
  if (move.via === 'restart') return [...all, ...nextRunOf(pipeline, move.to)];
  if (move.via === 'resume') return [...all, ...NOT_PAUSED, WAKE];
  if (move.via === 'park') {
    // Only a person drives a parked item on, so the dispatcher must not start it.
    return [...all, 'parked_at = now()', `parked_why = ${p.add(move.reason)}`, 'start_after = NULL'];
  }

  all.push(`state = ${p.add(move.to)}`, 'entered_at = now()', 'beat_at = now()');
  if (move.error !== undefined || !keepsError(move.via)) all.push(...errorOf(move, p));
  const ends = isEnd(rowOf(pipeline, move.to));
  if (ends) all.push(...endAssignmentsOf(move, p));
  if (beginsRun(move.via, ends)) all.push(...nextRunOf(pipeline, move.to));
  else if (!ends && leavesRest(pipeline, move)) all.push(NEXT_UNUSED_EPOCH, ...newRunOf(pipeline, move.to));
  else if (concernsRun(pipeline, move, ends)) all.push(WAKE);
  if (move.via === 'rescue') all.push(...rescueOf(move, p));
  if (move.via === 'exhaustion' && !ends) all.push(...NO_RESCUES);
  if (beginsVisit(move.via)) all.push(...newVisitOf());
  return all;
}

/** A rescue has not made up for the last error yet, and an item that is given up shows the error that it failed with. */
function keepsError(via: Via): boolean {
  return via === 'rescue' || via === 'exhaustion';
}

function errorOf({ error }: Move, p: Parameters): string[] {
  return [
    `error_class = ${p.orNull(error?.class)}`,
    `error_message = ${p.orNull(error && storableText(error.message))}`,
    `error_stage = ${p.orNull(error?.stage)}`,
  ];
}

/** Whether the move takes the item's running tasks from their attempts, whose commits are refused from then on. */
function takesTasks(via: Via): boolean {
  return via === 'cancel' || via === 'exhaustion' || via === 'rescue' || via === 'retry' || via === 'restart';
}

/** Tasks that were left as running would be shown as inflight for ever, take one of the isolated places of their worker, and count
 *  as crashed when a rescue's run claims them. Waiting tasks no longer ask for an isolated place. The caller has held the item's lock
 *  since an earlier statement, so that this statement sees every claim there was. */
function takeTasks(pipeline: Pipeline, p: Parameters): string {
  return `taken AS (
      UPDATE tasks t SET status = 'waiting', fence = t.fence + 1, isolated = false, token = NULL
      FROM guard WHERE t.item_id = guard.item_id AND t.status = 'running' RETURNING t.*
    ), superseded AS (
      INSERT INTO attempts (item_id, pipeline, visit, stage, unit, attempt, fence, worker, started_at, result)
      SELECT item_id, ${p.add(pipeline.name)}, visit, stage, unit, attempt, fence - 1, worker, started_at, 'superseded' FROM taken
    ), unasked AS (
      UPDATE tasks t SET place_asked_at = NULL FROM guard WHERE t.item_id = guard.item_id AND t.status = 'waiting' AND t.place_asked_at IS NOT NULL
    )`;
}

const WAKE = `wake_after = now() + ${WAKE_GRACE}, wake_tries = 0`;

const NOT_PAUSED = ['paused_until = NULL', 'pause_reason = NULL'];

function endAssignmentsOf(move: Move, p: Parameters): string[] {
  return ['ended_at = now()', `end_reason = ${p.orNull(move.reason)}`, 'start_after = NULL', ...NOT_PAUSED];
}

function beginsVisit(via: Via): boolean {
  return via === 'retry' || via === 'reopen';
}

function beginsRun(via: Via, ends: boolean): boolean {
  return via === 'rescue' || beginsVisit(via) || (via === 'exhaustion' && !ends);
}

/** Whether the item leaves a state where no run drives it, because only an event moves it on. */
function leavesRest(pipeline: Pipeline, { from, via }: Move): boolean {
  const row = rowOf(pipeline, from);
  return via === 'outcome' && isRests(row) && claimedState(row) === undefined;
}

/** The epoch stays the same while no run was ever asked for under it. */
const NEXT_UNUSED_EPOCH = 'epoch = i.epoch + (i.started OR i.start_after IS NOT NULL)::int';

function nextRunOf(pipeline: Pipeline, to: string): string[] {
  return ['epoch = i.epoch + 1', ...newRunOf(pipeline, to)];
}

/** `started` is cleared only together with a new epoch, or the dispatcher would start the id of a closed run again. */
function newRunOf(pipeline: Pipeline, to: string): string[] {
  const wantsRun = entryStep(pipeline, to, 1) !== null;
  return [
    'started = false',
    'start_tries = 0',
    `start_after = ${wantsRun ? 'now()' : 'NULL'}`,
    'run_ended_at = NULL',
    'accepted_at = NULL',
    'wake_after = NULL',
    'parked_at = NULL',
    'parked_why = NULL',
  ];
}

function rescueOf({ rescue }: Move, p: Parameters): string[] {
  return [
    rescue ? `rescues = ${p.add(rescue.count)}` : 'rescues = i.rescues + 1',
    'last_rescue_at = now()',
    `next_rescue_after = now() + ${p.add(rescue?.againAfterMs ?? 0)} * interval '1 millisecond'`,
  ];
}

/** From here on the item has its whole budget of rescues again. */
const NO_RESCUES = ['rescues = 0', 'last_rescue_at = NULL', 'next_rescue_after = NULL'];

function newVisitOf(): string[] {
  return ['visit = i.visit + 1', ...NO_RESCUES, 'ended_at = NULL', 'end_reason = NULL', ...NOT_PAUSED];
}

/** Whether a person or recovery makes this move, and not the run, so that the run has to be told. */
function concernsRun(pipeline: Pipeline, move: Move, ends: boolean): boolean {
  if (move.via === 'cancel' || move.via === 'exhaustion') return ends;
  return move.via === 'outcome' && isAwaits(rowOf(pipeline, move.from)) && move.actor.type !== 'worker';
}
