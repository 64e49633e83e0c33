import type pg from 'pg';
import { AppError } from '../../core/errors.js';
import { isEnd, rescuedState, retryStates, rowOf } from '../../core/machine.js';
import type { Pipeline } from '../../core/pipeline.js';
import { backoffMs, rescuesCounted } from '../../core/rescue-budget.js';
import type { Sql } from '../../ports/sql.js';
import { inTransaction } from '../postgres/client.js';
import { type ItemRow, lockItem } from './item-row.js';
import { type Cause, HAS_OPEN_RECEIPT, writeReceipt } from '../recovery/receipts.js';
import { causeOf } from '../recovery/stuck-facts.js';
import { type Actor, type Expected, type Move, recordTransition } from './transition.js';

/** What a person asks of an item. Each is one transaction that looks, decides, stores and answers, whether Temporal is there
 *  or not; the run is told afterwards. */
export interface Request {
  itemId: string;
  actor: Actor;
  reason?: string | undefined;
}

export interface Changed {
  itemId: string;
  pipeline: string;
  state: string;
  visit: number;
  epoch: number;
  version: number;
}

export type FindPipeline = (name: string) => Pipeline;

export async function cancelItem(pool: pg.Pool, find: FindPipeline, request: Request): Promise<Changed> {
  return change(pool, find, request, (pipeline, item) => {
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

/** What whoever gives up on an item, or drives it on, decided by. */
export interface Seen {
  /** Of two that saw the same run, one wins. */
  seen?: number;
  /** Of two that saw the same row: also whoever paused or moved it since wins. */
  seenVersion?: number;
  /** Why it had stopped; without it, what its row says. */
  cause?: Cause;
}

/** Drives an item on where it stands: the same visit, so finished tasks stay, and unfinished ones get their tries back.
 *  `isFree`: what stopped it was not its doing, and does not count in its budget. */
export async function rescueItem(
  pool: pg.Pool,
  find: FindPipeline,
  request: Request & Seen & { isFree?: boolean },
): Promise<Changed> {
  return change(pool, find, request, async (pipeline, item, transaction) => {
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
  return change(pool, find, request, (pipeline, item) => {
    const row = rowOf(pipeline, item.state);
    if (isEnd(row) && row.reopens === undefined)
      throw elsewhere(item, 'cannot be opened again; submit it as a new item');
    if (!isEnd(row) && request.from === undefined)
      throw elsewhere(item, 'has not ended; say which state to begin from');
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
  return change(pool, find, request, async (pipeline, item, transaction) => {
    assertLive(pipeline, item, 'paused');
    return {
      ...stays(item, 'pause', 'paused', request),
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
  return change(pool, find, request, (pipeline, item) => {
    assertLive(pipeline, item, 'resumed');
    return stays(item, 'resume', 'resumed', request);
  });
}

/** What waits with a higher priority is started first. */
export async function reprioritizeItem(
  pool: pg.Pool,
  find: FindPipeline,
  request: Request & { priority: number },
): Promise<Changed> {
  return change(pool, find, request, (pipeline, item) => {
    assertLive(pipeline, item, 'given another priority');
    const { priority } = request;
    const move = stays(item, 'reprioritize', 'reprioritized', request);
    return { ...move, priority, metadata: { ...move.metadata, priority } };
  });
}

/** What to do with the locked item; null: it is done already. */
export type Decide = (pipeline: Pipeline, item: ItemRow, transaction: Sql) => Move | null | Promise<Move | null>;

export async function change(pool: pg.Pool, find: FindPipeline, request: Request, decide: Decide): Promise<Changed> {
  return refusing(request, () =>
    inTransaction(pool, (transaction) => changeLocked(transaction, find, request, decide)),
  );
}

export async function refusing(request: Request, work: () => Promise<Changed>): Promise<Changed> {
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
  const { id: itemId, state, visit, epoch, version } = item;
  if (!move) return { itemId, pipeline: item.pipeline, state, visit, epoch, version };
  const expected: Expected = { itemId, state, visit, epoch };
  const moved = await recordTransition(transaction, pipeline, expected, move);
  if (!moved) throw new Error(`item ${itemId} moved while it was locked`);
  return { itemId, pipeline: item.pipeline, state: move.to, ...moved };
}

/** What the database refused, in the caller's words. */
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
  return constraint === 'decisions_pkey' ? otherDecision('this id', cause) : cause;
}

const LOCK_NOT_AVAILABLE = '55P03';
const UNIQUE_VIOLATION = '23505';

export function otherDecision(id: string, cause?: unknown): AppError {
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
  if (isEnd(rowOf(pipeline, item.state))) throw elsewhere(item, `has ended and can't be ${wanted}`);
}

export function assertAsSeen(item: ItemRow, { seen, seenVersion }: Seen): void {
  if (seen !== undefined && seen !== item.epoch) throw elsewhere(item, 'was rescued by somebody else');
  if (seenVersion !== undefined && seenVersion !== item.version) throw elsewhere(item, 'has changed since it was seen');
}

export function elsewhere(item: ItemRow, why: string): AppError {
  return new AppError('state_conflict', `item ${item.id} is in ${item.state} and ${why}`, {
    facts: { state: item.state, version: item.version },
  });
}

function stays(item: ItemRow, via: 'pause' | 'resume' | 'reprioritize', trigger: string, request: Request): Move {
  return { from: item.state, to: item.state, via, trigger, actor: request.actor, metadata: reasonOf(request) };
}

export function reasonOf(request: Request): { reason?: string } {
  return request.reason === undefined ? {} : { reason: request.reason };
}
