import { beatsMsOf } from './attempt-life.js';
import type { Facts } from './diagnosis.js';
import type { RunLook } from './run-look.js';

/** Whether a live item may be rescued in its state because a person asks for it. `ask`: only the engine knows. A living
 *  run is left alone, because a second run would only repeat its work, unless the living run is wedged. */
export function retryDecision(facts: Facts, look?: RunLook): 'rescue' | 'refuse' | 'ask' {
  const { item } = facts;
  if (isBeating(facts)) return 'refuse';
  // Only a person drives a parked item on. Its run was gone when the item was parked.
  if (item.parkedAt) return 'rescue';
  if (!item.started && item.startAfter === null) return 'refuse';
  if (item.runEndedAt) return 'rescue';
  if (!look || look.is === 'unknown') return 'ask';
  if (look.is === 'alive') return look.wedgedBy === null ? 'refuse' : 'rescue';
  // A run that was never started: the dispatcher is about to start it, and a second retry must not count as another
  // rescue.
  return item.started || look.how !== 'never_existed' ? 'rescue' : 'refuse';
}

function isBeating({ item, now, running, pipeline }: Facts): boolean {
  if (!running || running.workerGoneAt) return false;
  return now.getTime() - running.beatAt.getTime() <= beatsMsOf(pipeline, item.state, running.stage);
}
