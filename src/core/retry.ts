import { beatsMsOf, type Facts } from './diagnosis.js';

/** What the engine said of a run when it was asked. */
export type RunLook = { is: 'alive'; wedgedBy: string | null } | { is: 'gone'; how: string } | { is: 'unknown' };

/** Whether a live item may be driven on where it stands because a person asks for it. `ask`: only the engine knows.
 *  A run that lives is left alone, unless it can do nothing: to start another would only repeat what it is about to do. */
export function retryDecision(facts: Facts, look?: RunLook): 'rescue' | 'refuse' | 'ask' {
  const { item } = facts;
  if (isBeating(facts)) return 'refuse';
  // Only a person drives a parked item on; its run was gone when it was parked.
  if (item.parkedAt) return 'rescue';
  if (!item.started && item.startAfter === null) return 'refuse';
  if (item.runEndedAt) return 'rescue';
  if (!look || look.is === 'unknown') return 'ask';
  if (look.is === 'alive') return look.wedgedBy === null ? 'refuse' : 'rescue';
  // Never started yet: the dispatcher is about to, and a second retry in a row must not count as another rescue.
  return item.started || look.how !== 'never_existed' ? 'rescue' : 'refuse';
}

/** What the engine said, as a diagnosis takes it. */
export function engineFactsOf(look: RunLook): Pick<Facts, 'engine' | 'wedgedBy' | 'closedAs'> {
  if (look.is === 'gone') return { engine: 'gone', closedAs: look.how };
  if (look.is === 'unknown' || look.wedgedBy === null) return { engine: look.is };
  return { engine: 'alive', wedgedBy: look.wedgedBy };
}

function isBeating({ item, now, running, pipeline }: Facts): boolean {
  if (!running || running.workerGoneAt) return false;
  return now.getTime() - running.beatAt.getTime() <= beatsMsOf(pipeline, item.state, running.stage);
}
