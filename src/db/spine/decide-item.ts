import type pg from 'pg';
import { AppError } from '../../core/errors.js';
import { isAwaits, isEnd, rowOf } from '../../core/machine.js';
import type { AwaitsRow } from '../../core/pipeline.js';
import type { Sql } from '../../ports/sql.js';
import type { JsonObject } from '../../ports/stage.js';
import { inTransaction } from '../postgres/client.js';
import {
  type Changed,
  changeLocked,
  conflictOf,
  type Decide,
  decisionConflict,
  type FindPipeline,
  reasonOf,
  type Request,
  translateRefusals,
} from './control.js';
import type { ItemRow } from './item-row.js';
import { outcomeMove } from './sequel.js';

export interface Decision extends Request {
  id: string;
  outcome: string;
  /** The state that the person saw. */
  seen?: string;
  /** Facts for the audit entry. */
  metadata?: JsonObject;
  /** Writes what the decision brings about besides the move, in the same transaction. Returns facts for the audit entry. */
  save?(transaction: Sql): Promise<JsonObject>;
}

/** Stores a person's outcome and makes its move. A decision that is sent twice, even at once, is made once, because it is looked for
 *  under the item's lock. Another decision in its place is refused. Several decisions are made one after the other in one
 *  transaction: all of them or none, each with an audit entry of its own. */
export async function decideItem(
  pool: pg.Pool,
  find: FindPipeline,
  ...requests: [Decision, ...Decision[]]
): Promise<Changed> {
  const [first, ...others] = requests;
  return translateRefusals(first, () =>
    inTransaction(pool, async (transaction) => {
      let changed = await changeLocked(transaction, find, first, moveOf(first));
      for (const each of others) changed = await changeLocked(transaction, find, each, moveOf(each));
      return changed;
    }),
  );
}

function moveOf(request: Decision): Decide {
  return async (pipeline, item, transaction) => {
    if (await isDecided(transaction, request)) return null;
    const row = rowOf(pipeline, item.state);
    if (!isAwaits(row)) throw conflictOf(item, 'awaits no decision');
    // Another state may await another person, and the permission was checked for the state that was seen.
    if (request.seen !== undefined && request.seen !== item.state) throw conflictOf(item, 'was elsewhere before');
    const { state } = item;
    const { outcome, actor } = request;
    const move = outcomeMove(pipeline, { state, outcome, by: row.awaits, actor });
    if (!move) throw outcomeError(row, item, request);
    assertReason(row, item, request);
    const { rowCount } = await transaction.query(
      `INSERT INTO decisions (id, item_id, visit, state, outcome, reason, actor) VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (item_id, visit, state) DO NOTHING`,
      [request.id, item.id, item.visit, state, outcome, request.reason ?? null, actor.id],
    );
    if (rowCount === 0) throw conflictOf(item, 'was decided already');
    const saved = await request.save?.(transaction);
    return {
      ...move,
      metadata: { ...saved, ...request.metadata, ...reasonOf(request) },
      ...(isEnd(rowOf(pipeline, move.to)) && { reason: outcome.toUpperCase() }),
    };
  };
}

function outcomeError({ then }: AwaitsRow, { state }: ItemRow, { outcome }: Decision): AppError {
  const known = Object.keys(then).join(', ');
  return new AppError('invalid_input', `'${outcome}' is no outcome in ${state}; use one of ${known}`, {
    errors: [{ path: 'outcome', message: `use one of ${known}` }],
  });
}

/** The owner is told the reason, and can mend nothing without it. */
function assertReason({ needsReason = [] }: AwaitsRow, { state }: ItemRow, { outcome, reason = '' }: Decision): void {
  if (!needsReason.includes(outcome) || reason.trim() !== '') return;
  throw new AppError('reason_needed', `'${outcome}' in ${state} needs a reason; send it as reason`, {
    errors: [{ path: 'reason', message: 'say why: the owner is told' }],
  });
}

/** Whether this very decision was made already. Another decision under the same id is refused. */
async function isDecided(transaction: Sql, { id, itemId, outcome, reason }: Decision): Promise<boolean> {
  const { rows } = await transaction.query<{ itemId: string; outcome: string; reason: string | null }>(
    'SELECT item_id AS "itemId", outcome, reason FROM decisions WHERE id = $1',
    [id],
  );
  const [stored] = rows;
  if (!stored) return false;
  const isSame = stored.itemId === itemId && stored.outcome === outcome && stored.reason === (reason ?? null);
  if (!isSame) throw decisionConflict(id);
  return true;
}
