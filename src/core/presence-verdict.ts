/** One worker, as one look at the database found it. */
export interface WorkerLook {
  id: string;
  /** Whether its lock is held. Only the worker's own process holds it. */
  isHeld: boolean;
  /** When it gave its last sign of life. */
  seenAt: Date;
  /** When it was found to be dead; null: it was not, or it has registered again. */
  seenGoneAt: Date | null;
}

export interface PresenceLook {
  /** By the database's clock, like every other time here. */
  now: Date;
  workers: readonly WorkerLook[];
}

/** The locks that one uninterrupted session has seen held, by worker: null, the lock is held; a time, the lock is gone
 *  since then. A worker that is not in the map was never seen with its lock, so the session knows nothing of it. */
export type Sightings = ReadonlyMap<string, Date | null>;

/** The workers that this look shows to be dead, and the session's sightings after it. A reopened session starts with an
 *  empty map, because one killed backend, or a restart, drops every lock while all workers live. */
export function presenceVerdict(
  known: Sightings,
  { now, workers }: PresenceLook,
  goneForMs: number,
): { known: Sightings; dead: string[] } {
  const next = new Map<string, Date | null>();
  const dead: string[] = [];
  for (const worker of workers) {
    const goneSince = sightingOf(known.get(worker.id), worker, now);
    if (goneSince !== undefined) next.set(worker.id, goneSince);
    if (isFoundDead(worker) || isGoneFor(goneForMs, goneSince, now)) dead.push(worker.id);
  }
  return { known: next, dead };
}

/** A sign of life after the lock went begins the count again: the worker registers again, or its last sign was still on
 *  its way. */
function sightingOf(before: Date | null | undefined, worker: WorkerLook, now: Date): Date | null | undefined {
  if (worker.isHeld) return null;
  if (before === undefined) return undefined;
  return before === null || worker.seenAt > before ? now : before;
}

/** Whether a process that knew marked the worker as gone, and was interrupted before the burial was complete. */
function isFoundDead({ isHeld, seenAt, seenGoneAt }: WorkerLook): boolean {
  return !isHeld && seenGoneAt !== null && seenAt <= seenGoneAt;
}

function isGoneFor(ms: number, since: Date | null | undefined, now: Date): boolean {
  return since instanceof Date && now.getTime() - since.getTime() >= ms;
}
