import type pg from 'pg';
import { AppError } from '../../core/errors.js';
import { isRests, rowOf } from '../../core/machine.js';
import type { Sql } from '../../ports/sql.js';
import { mayEnter } from './admission.js';
import { changeItem, type Changed, type FindPipeline, reasonOf, type Request } from './control.js';
import type { ItemRow } from './item-row.js';
import { outcomeMove } from './sequel.js';

/** Moves a resting item on by an event: its upload was confirmed, or a batch has picked it. From then on a run is wanted where the
 *  new state does something. If that state is full, the item stays, as the answer's state shows. `save` runs in the same transaction
 *  before the move. If it throws, the item stays and nothing is stored. */
export async function leaveRest(
  pool: pg.Pool,
  find: FindPipeline,
  request: Request & { outcome: string },
  save?: (transaction: Sql, item: ItemRow) => Promise<void>,
): Promise<Changed> {
  const { outcome, actor } = request;
  return changeItem(pool, find, request, async (pipeline, item, transaction) => {
    const { id, state, version } = item;
    // A claim leaves a rest under its fence, not by an event.
    const isLeft = isRests(rowOf(pipeline, state)) && outcome !== 'claimed';
    const move = isLeft
      ? outcomeMove(pipeline, { state, outcome, by: state, actor, metadata: reasonOf(request) })
      : undefined;
    if (!move) {
      throw new AppError('state_conflict', `item ${id} is in ${state}, which '${outcome}' does not leave`, {
        facts: { state, version },
      });
    }
    if (!(await mayEnter(transaction, pipeline, move.to))) return null;
    await save?.(transaction, item);
    return move;
  });
}
