/** Three signs of life missed (workers say that they are there every five seconds), and a little more: one that was not seen
 *  for this long is silent. Said once, so that health, the doctor, a diagnosis and a drill mean the same workers. */
export const WORKER_SILENT_SECONDS = 20;

/** One worker, as one look at the database found it. */
export interface WorkerLook {
  id: string;
  /** Whether somebody holds its lock; only its own process does. */
  isHeld: boolean;
  /** When it last said that it is there. */
  seenAt: Date;
  /** When it was found to be dead, by whomever; null: it was not, or has registered again. */
  seenGoneAt: Date | null;
}

export interface PresenceLook {
  /** By the database's clock, as every other time here. */
  now: Date;
  workers: readonly WorkerLook[];
}

/** What one uninterrupted session knows of the locks it saw held: null, it is held; a time, it is gone since. Who is not in
 *  here was never seen with its lock, and nothing can be said of it. */
export type Sightings = ReadonlyMap<string, Date | null>;

/** Whom this look shows to be dead, and what the session knows after it. A session that was reopened starts over with an empty
 *  map: one killed backend, or a restart, drops every lock while all workers live. */
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

/** A sign of life after the lock went (it registers again, or its last word was still on its way) begins the count anew. */
function sightingOf(before: Date | null | undefined, worker: WorkerLook, now: Date): Date | null | undefined {
  if (worker.isHeld) return null;
  if (before === undefined) return undefined;
  return before === null || worker.seenAt > before ? now : before;
}

/** Somebody who knew said so, and was interrupted before all was done. */
function isFoundDead({ isHeld, seenAt, seenGoneAt }: WorkerLook): boolean {
  return !isHeld && seenGoneAt !== null && seenAt <= seenGoneAt;
}

function isGoneFor(ms: number, since: Date | null | undefined, now: Date): boolean {
  return since instanceof Date && now.getTime() - since.getTime() >= ms;
}

/** A row is beaten every half of the heartbeat timeout, Temporal at least every quarter: who died or froze until Temporal missed
 *  it has been silent here for three quarters, and who lives has not. */
const LIVING_SHARE = 0.75;

/** What the row and the locks say of an attempt that never ended. */
export interface LastSign {
  isHeld: boolean;
  silentMs: number;
  /** Since it was claimed. */
  ranMs: number;
}

/** Whether an attempt that Temporal has given up is alive all the same: its process holds its lock and beats its row. Then
 *  Temporal was away or out of its reach, and nothing that the stage did. One that Temporal gave up before a heartbeat could be
 *  missed has ended without being able to say so: that must count, or it would be repeated for ever. */
export function isAliveWithoutEngine({ isHeld, silentMs, ranMs }: LastSign, beatsMs: number): boolean {
  return isHeld && ranMs >= beatsMs && silentMs < LIVING_SHARE * beatsMs;
}
