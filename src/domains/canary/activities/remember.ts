/** Canaries whose settings a worker keeps: several times as many as it has in flight. */
const KEPT = 1_000;

/** Reads each once: what a canary was asked to do never changes, and its stages mostly run one after the other on one worker. */
export function remember<T>(find: (id: string) => Promise<T>): (id: string) => Promise<T> {
  const kept = new Map<string, T>();
  return async (id) => {
    const known = kept.get(id);
    if (known !== undefined) return known;
    const found = await find(id);
    const [oldest] = kept.keys();
    if (kept.size >= KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(id, found);
    return found;
  };
}
