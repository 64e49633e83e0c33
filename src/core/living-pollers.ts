/** A poll lasts a minute at most, so a living worker has polled again within this time. */
const POLL_MS = 75_000;

interface Poller {
  identity: string;
  seenAt: Date;
}

/** How many living workers poll a queue. Temporal lists a poller for minutes after its death. The registry of workers
 *  knows better, if the worker is registered. */
export function countLivingPollers(
  pollers: readonly Poller[],
  registered: ReadonlyMap<string, { isPresent: boolean }>,
  now: Date,
): number {
  const living = pollers.filter(
    ({ identity, seenAt }) => registered.get(identity)?.isPresent ?? now.getTime() - seenAt.getTime() < POLL_MS,
  );
  return new Set(living.map((each) => each.identity)).size;
}
