/** A poll lasts a minute at most, so who lives has asked again since, give or take a little. */
const POLL_MS = 75_000;

interface Poller {
  identity: string;
  seenAt: Date;
}

/** How many workers really ask for work. Temporal lists a poller for minutes after it died; our registry knows better, where
 *  it knows the worker at all. */
export function livingPollers(
  pollers: readonly Poller[],
  registered: ReadonlyMap<string, { isPresent: boolean }>,
  now: Date,
): number {
  const living = pollers.filter(
    ({ identity, seenAt }) => registered.get(identity)?.isPresent ?? now.getTime() - seenAt.getTime() < POLL_MS,
  );
  return new Set(living.map((each) => each.identity)).size;
}
