import type { FastifyBaseLogger } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { isAwaits } from '../core/machine.js';
import { type Decision, decideItem } from '../db/control.js';
import type { ItemHead } from '../db/item-view.js';
import { publishSkill } from '../db/skills.js';
import type { Caller } from './auth.js';
import { pipelineOf, type ReaderDeps } from './item-reader.js';
import { actorOf, assertMayDecide } from './permissions.js';
import { tellEngine } from './tell-engine.js';

export interface Choice {
  caller: Caller;
  head: ItemHead;
  outcome: string;
  reason?: string | undefined;
  key: string | undefined;
}

/** What a decision brings about besides its move, by pipeline, state and outcome; both are committed together. */
const EFFECTS: Readonly<Record<string, (itemId: string) => NonNullable<Decision['save']>>> = {
  'submission TIER3_REVIEW approve': (itemId) => (transaction) =>
    publishSkill(transaction, itemId, { tier: 'tier3', method: 'review' }),
};

export async function decide(deps: ReaderDeps, log: FastifyBaseLogger, choice: Choice): Promise<void> {
  const { caller, head, outcome, reason, key } = choice;
  const row = pipelineOf(deps, head.pipeline).states[head.state];
  if (row && isAwaits(row)) assertMayDecide(caller, head, row.awaits);
  // Keys of different callers must not meet.
  const id = key === undefined ? uuidv7() : `${encodeURIComponent(caller.sub)}:${key}`;
  const effect = EFFECTS[`${head.pipeline} ${head.state} ${outcome}`];
  const asked = { id, itemId: head.id, actor: actorOf(caller), outcome, reason, seen: head.state };
  const changed = await decideItem(deps.pool, (name) => pipelineOf(deps, name), {
    ...asked,
    ...(effect && { save: effect(head.id) }),
  });
  await tellEngine(log, () => deps.engine.wake(changed));
}
