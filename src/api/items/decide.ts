import type { FastifyBaseLogger } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { findRow, isAwaits, targetOf } from '../../core/machine.js';
import { type Decision, decideItem } from '../../db/spine/decide-item.js';
import type { ItemHead } from '../../db/reads/item-view.js';
import type { ApiDeps } from '../parts.js';
import type { Caller } from '../http/auth.js';
import { pipelineOf, type ReaderDeps } from './item-reader.js';
import { actorOf, assertMayDecide } from '../http/permissions.js';
import { tellEngine } from './tell-engine.js';

export interface Choice {
  caller: Caller;
  head: ItemHead;
  outcome: string;
  /** A decision that is made first, to reach a state in which `outcome` is possible. Both decisions are made, or
   *  neither. */
  first?: string | undefined;
  reason?: string | undefined;
  key: string | undefined;
}

export type DecideDeps = ReaderDeps & Pick<ApiDeps, 'decisionSaves'>;

export async function decide(deps: DecideDeps, log: FastifyBaseLogger, choice: Choice): Promise<void> {
  const { head, outcome, first, key } = choice;
  // Keys of different callers must not meet.
  const id = key === undefined ? uuidv7() : `${encodeURIComponent(choice.caller.sub)}:${key}`;
  const last = (state: string) => decisionIn(deps, choice, { id, state, outcome });
  const find = (name: string) => pipelineOf(deps, name);
  const row = findRow(find(head.pipeline), head.state);
  const next = first !== undefined && row ? targetOf(row, first) : undefined;
  const changed =
    first !== undefined && next !== undefined
      ? await decideItem(
          deps.pool,
          find,
          decisionIn(deps, choice, { id: `${id}:${first}`, state: head.state, outcome: first }),
          last(next),
        )
      : await decideItem(deps.pool, find, last(head.state));
  await tellEngine(log, () => deps.engine.wake(changed));
}

/** One decision of a caller who may make it. */
function decisionIn(
  deps: DecideDeps,
  { caller, head, reason }: Choice,
  { id, state, outcome }: { id: string; state: string; outcome: string },
): Decision {
  const row = findRow(pipelineOf(deps, head.pipeline), state);
  if (row && isAwaits(row)) assertMayDecide(caller, { ...head, state }, row.awaits);
  const isOwn = row && isAwaits(row) && row.awaits !== 'owner' && head.owner === caller.sub;
  const save = deps.decisionSaves[head.pipeline]?.[state]?.[outcome];
  return {
    id,
    itemId: head.id,
    actor: actorOf(caller),
    outcome,
    reason,
    seen: state,
    ...(isOwn && { metadata: { decidedOwnItem: true } }),
    ...(save && { save: (transaction) => save(transaction, head.id) }),
  };
}
