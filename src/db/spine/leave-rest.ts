import type pg from 'pg';
import { AppError } from '../../core/errors.js';
import { isRests, rowOf, targetOf, triggerOf } from '../../core/machine.js';
import { mayEnter } from './admission.js';
import { change, type Changed, type FindPipeline, type Request } from './control.js';

/** Moves a resting item on: its upload was confirmed, a batch has picked it. A run is wanted from then on, where the new state
 *  does something. If that state is full, the item stays, as the answer's state shows. */
export async function leaveRest(
  pool: pg.Pool,
  find: FindPipeline,
  request: Request & { outcome: string },
): Promise<Changed> {
  const { outcome, actor, reason } = request;
  return change(pool, find, request, async (pipeline, item, transaction) => {
    const row = rowOf(pipeline, item.state);
    const to = isRests(row) ? targetOf(row, outcome) : undefined;
    // A claim moves by itself, under the fence.
    if (to === undefined || outcome === 'claimed') {
      throw new AppError('state_conflict', `item ${item.id} is in ${item.state}, which '${outcome}' does not leave`, {
        facts: { state: item.state, version: item.version },
      });
    }
    if (!(await mayEnter(transaction, pipeline, to))) return null;
    const trigger = triggerOf(row, item.state, outcome);
    return { from: item.state, to, via: 'outcome', trigger, actor, metadata: reason === undefined ? {} : { reason } };
  });
}
