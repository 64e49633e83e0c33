import { Context } from '@temporalio/activity';

/** The note that an attempt leaves in Temporal when the database went away during its claim: the claim may have been granted. */
interface Unanswered {
  unansweredClaim: string;
  attempt: number;
}

/** The id of the attempt before, if its claim got no answer. No stage has begun under that id, so a task that is claimed under it has
 *  brought down no worker. Only the very next attempt may conclude this, because an attempt in between may have begun under the id and
 *  died before it could beat. */
export function findUnansweredClaim(): string | undefined {
  const { info } = Context.current();
  const left = info.heartbeatDetails as Partial<Unanswered> | null | undefined;
  return left?.attempt === info.attempt - 1 ? left.unansweredClaim : undefined;
}

/** Leaves the id to the next attempt. This attempt must end now. A local activity can leave nothing. */
export function leaveUnansweredClaim(claimId: string): void {
  const { info } = Context.current();
  const left: Unanswered = { unansweredClaim: claimId, attempt: info.attempt };
  if (!info.isLocal) Context.current().heartbeat(left);
}
