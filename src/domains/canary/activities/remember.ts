/** The number of canaries whose settings a worker keeps: several times as many as it runs at once. */
const KEPT = 1_000;

/** Reads the settings of a canary once and keeps them. Settings never change, and the stages of a canary mostly run one
 *  after the other on one worker. */
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
