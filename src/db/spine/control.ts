import type pg from 'pg';
import { AppError } from '../../core/errors.js';
import { isEnd, rescuedState, retryStates, rowOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { priorityKeyOf } from '../../core/priority.js';
import { backoffMs, rescuesCounted } from '../../core/rescue-budget.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import { type Cause, HAS_OPEN_RECEIPT, writeReceipt } from '../recovery/receipts.js';
import { causeOf } from '../recovery/row-facts.js';
import { type ItemRow, lockItem } from './item-row.js';
import { handOver, keepsFirstLevel } from './restart.js';
import { type Actor, type Move, moveLocked } from './transition.js';

/** A person's request to an item. Each request is one transaction that looks, decides, stores and answers, whether Temporal is there
 *  or not. The run is told afterwards. */
export interface Request {
  itemId: string;
  actor: Actor;
  reason?: string | undefined;
}

export interface Changed {
  itemId: string;
  pipeline: string;
  owner: string;
  priority: number;
  state: string;
  visit: number;
  epoch: number;
  version: number;
}

export type FindPipeline = (name: string) => Pipeline;

export async function cancelItem(pool: pg.Pool, find: FindPipeline, request: Request): Promise<Changed> {
  return changeItem(pool, find, request, (pipeline, item) => {
    assertLive(pipeline, item, 'cancelled');
    return {
      from: item.state,
      to: pipeline.cancelled,
      via: 'cancel',
      trigger: 'cancelled',
      actor: request.actor,
      metadata: reasonOf(request),
      reason: 'CANCELLED',
    };
  });
}

/** The item as the caller saw it before it decided to rescue the item or to give it up. */
export interface SeenItem {
  /** The epoch. Of two callers that saw the same run, one wins. */
  seen?: number;
  /** The version. A pause or a move since then wins as well. */
  seenVersion?: number;
  /** Why the item had stopped. Without it, the item's row says why. */
  cause?: Cause;
}

/** Drives an item on where it stands: in the same visit, so that finished tasks stay finished and the others get their tries back.
 *  `isFree`: the item did not stop by its own fault, so the rescue does not count in its budget. */
export async function rescueItem(
  pool: pg.Pool,
  find: FindPipeline,
  request: Request & SeenItem & { isFree?: boolean },
): Promise<Changed> {
  return changeItem(pool, find, request, async (pipeline, item, transaction) => {
    assertLive(pipeline, item, 'rescued');
    assertAsSeen(item, request);
    const cause = request.cause ?? (await causeOf(transaction, pipeline, item));
    await writeReceipt(transaction, { item, epoch: item.epoch + 1, cause, actor: request.actor, result: 'waiting' });
    await transaction.query(
      `UPDATE tasks SET errors = 0, rescues = rescues + 1, retry_at = NULL, scheduled_at = NULL, recovering = recovering AND ${HAS_OPEN_RECEIPT}
       WHERE item_id = $1 AND visit = $2 AND status = ANY (ARRAY['waiting', 'running'])`,
      [item.id, item.visit],
    );
    const before = rescuesCounted(pipeline, item, item.now);
    return {
      from: item.state,
      to: rescuedState(pipeline, item.state),
      via: 'rescue',
      trigger: 'rescue',
      actor: request.actor,
      metadata: { ...reasonOf(request), stopped: cause.reason, sentence: cause.sentence },
      rescue: { count: request.isFree ? before : before + 1, againAfterMs: backoffMs(pipeline, before) },
    };
  });
}

/** Begins the item's work anew from a chosen state: a new visit, to which no finished task is carried over. */
export async function retryItem(
  pool: pg.Pool,
  find: FindPipeline,
  request: Request & { from?: string },
): Promise<Changed> {
  return changeItem(pool, find, request, (pipeline, item) => {
    const row = rowOf(pipeline, item.state);
    if (isEnd(row) && row.reopens === undefined) {
      throw conflictOf(item, 'cannot be opened again; submit it as a new item');
    }
    if (!isEnd(row) && request.from === undefined) {
      throw conflictOf(item, 'has not ended; say which state to begin from');
    }
    const reopens = isEnd(row) ? row.reopens : undefined;
    const to = request.from ?? reopens ?? pipeline.start;
    const isReopening = to === reopens;
    if (!isReopening) assertRetryState(pipeline, to);
    return {
      from: item.state,
      to,
      via: isReopening ? 'reopen' : 'retry',
      trigger: 'retry',
      actor: request.actor,
      metadata: reasonOf(request),
    };
  });
}

export async function pauseItem(
  pool: pg.Pool,
  find: FindPipeline,
  request: Request & { until: Date | 'infinity' | { forMs: number } },
): Promise<Changed> {
  return changeItem(pool, find, request, async (pipeline, item, transaction) => {
    assertLive(pipeline, item, 'paused');
    return {
      ...flagMove(item, 'pause', 'paused', request),
      pausedUntil: await endOfPause(transaction, request.until),
      reason: request.reason ?? 'paused',
    };
  });
}

/** A length of time runs by the database's clock, as every pause does. */
async function endOfPause(transaction: Sql, until: Date | 'infinity' | { forMs: number }): Promise<Date | 'infinity'> {
  if (until === 'infinity' || until instanceof Date) return until;
  const { rows } = await transaction.query<{ until: Date }>(`SELECT now() + $1 * interval '1 millisecond' AS until`, [
    until.forMs,
  ]);
  return rows[0]?.until ?? 'infinity';
}

export async function resumeItem(pool: pg.Pool, find: FindPipeline, request: Request): Promise<Changed> {
  return changeItem(pool, find, request, (pipeline, item) => {
    assertLive(pipeline, item, 'resumed');
    return flagMove(item, 'resume', 'resumed', request);
  });
}

/** Gives the item another priority. A run asks for work with the level that it was started with or was last told, so an item that waits
 *  for a worker or a person gets a new run. Its old run has nothing left to do. In all other cases the next step carries the level.
 *  `heedsPriorities`: without, a new run would stand behind everything that waits, so the row alone changes. */
export async function reprioritizeItem(
  pool: pg.Pool,
  find: FindPipeline,
  request: Request & { priority: number; heedsPriorities: boolean },
): Promise<Changed & { restarted: boolean }> {
  const { priority, heedsPriorities } = request;
  let restarts = false;
  const changed = await changeItem(pool, find, request, async (pipeline, item, transaction) => {
    assertLive(pipeline, item, 'given another priority');
    const isOtherLevel = priorityKeyOf(priority) !== priorityKeyOf(item.priority);
    restarts = heedsPriorities && isOtherLevel && (await keepsFirstLevel(transaction, pipeline, item));
    if (restarts) await handOver(transaction, item);
    const move = flagMove(item, 'reprioritize', 'reprioritized', request);
    return {
      ...move,
      priority,
      restarts,
      metadata: { ...move.metadata, priority, ...(restarts && { restarted: true }) },
    };
  });
  return { ...changed, restarted: restarts };
}

/** Decides the move of the locked item. Null: the move is made already, or can't be made yet. */
export type Decide = (pipeline: Pipeline, item: ItemRow, transaction: Sql) => Move | null | Promise<Move | null>;

export async function changeItem(
  pool: pg.Pool,
  find: FindPipeline,
  request: Request,
  decide: Decide,
): Promise<Changed> {
  return translateRefusals(request, () =>
    inTransaction(pool, (transaction) => changeLocked(transaction, find, request, decide)),
  );
}

/** Translates an error by which the database refuses the work into the caller's words. */
export async function translateRefusals(request: Request, work: () => Promise<Changed>): Promise<Changed> {
  try {
    return await work();
  } catch (error) {
    throw refusalOf(error, request);
  }
}

export async function changeLocked(
  transaction: Sql,
  find: FindPipeline,
  request: Request,
  decide: Decide,
): Promise<Changed> {
  const item = await lockItem(transaction, request.itemId);
  if (!item) throw new AppError('not_found', `there is no item ${request.itemId}`);
  const pipeline = find(item.pipeline);
  const move = await decide(pipeline, item, transaction);
  const { id: itemId, owner, state, visit, epoch, version } = item;
  const kept = { itemId, owner, pipeline: item.pipeline };
  if (!move) return { ...kept, priority: item.priority, state, visit, epoch, version };
  const moved = await moveLocked(transaction, pipeline, item, move);
  return { ...kept, priority: move.priority ?? item.priority, state: move.to, ...moved };
}

function refusalOf(cause: unknown, { itemId }: Request): unknown {
  if (!(cause instanceof Error) || !('code' in cause)) return cause;
  if (cause.code === LOCK_NOT_AVAILABLE) {
    return new AppError('still_alive', `item ${itemId} is being written at this moment; try again`, { cause });
  }
  const constraint = cause.code === UNIQUE_VIOLATION && 'constraint' in cause ? cause.constraint : undefined;
  if (constraint === 'items_dedupe_live') {
    return new AppError('state_conflict', `item ${itemId} can't be opened: a newer one with its key is live`, {
      cause,
    });
  }
  return constraint === 'decisions_pkey' ? decisionConflict('this id', cause) : cause;
}

const LOCK_NOT_AVAILABLE = '55P03';
const UNIQUE_VIOLATION = '23505';

export function decisionConflict(id: string, cause?: unknown): AppError {
  return new AppError('idempotency_conflict', `${id} was used for another decision`, { cause });
}

export function assertRetryState(pipeline: Pipeline, state: string): void {
  const known = retryStates(pipeline);
  if (known.includes(state)) return;
  throw new AppError('invalid_input', `work can't begin anew in '${state}'; use one of ${known.join(', ')}`, {
    errors: [{ path: 'from', message: `use one of ${known.join(', ')}` }],
  });
}

export function assertLive(pipeline: Pipeline, item: ItemRow, wanted: string): void {
  if (isEnd(rowOf(pipeline, item.state))) throw conflictOf(item, `has ended and can't be ${wanted}`);
}

export function assertAsSeen(item: ItemRow, { seen, seenVersion }: SeenItem): void {
  if (seen !== undefined && seen !== item.epoch) throw conflictOf(item, 'was rescued by somebody else');
  if (seenVersion !== undefined && seenVersion !== item.version)
    throw conflictOf(item, 'has changed since it was seen');
}

export function conflictOf(item: ItemRow, why: string): AppError {
  return new AppError('state_conflict', `item ${item.id} is in ${item.state} and ${why}`, {
    facts: { state: item.state, version: item.version },
  });
}

function flagMove(item: ItemRow, via: 'pause' | 'resume' | 'reprioritize', trigger: string, request: Request): Move {
  return { from: item.state, to: item.state, via, trigger, actor: request.actor, metadata: reasonOf(request) };
}

/** An entry in the audit trail that leaves the item as it is. */
export function noteOf({ state }: ItemRow, trigger: string, actor: Actor): Move {
  return { from: state, to: state, via: 'note', trigger, actor };
}

export function reasonOf(request: Request): { reason?: string } {
  return request.reason === undefined ? {} : { reason: request.reason };
}
