import { Context } from '@temporalio/activity';

/** What an attempt leaves in Temporal when the database went away while it asked for its task: the task may have been granted. */
interface Unanswered {
  unansweredClaim: string;
  attempt: number;
}

/** The id that the attempt before has asked under without an answer: nobody has begun under it, and a task that is found claimed by
 *  it has brought down no worker. Only the very next attempt may say so, since of a later one the attempt before may have begun,
 *  and died before it could beat. */
export function findUnansweredClaim(): string | undefined {
  const { info } = Context.current();
  const left = info.heartbeatDetails as Partial<Unanswered> | null | undefined;
  return left?.attempt === info.attempt - 1 ? left.unansweredClaim : undefined;
}

/** The attempt must end now: the next one goes on under its id. A local activity can leave nothing. */
export function leaveUnansweredClaim(claimId: string): void {
  const { info } = Context.current();
  const left: Unanswered = { unansweredClaim: claimId, attempt: info.attempt };
  if (!info.isLocal) Context.current().heartbeat(left);
}
