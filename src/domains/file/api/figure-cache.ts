/** Whose figures are asked for; null: those of all owners. */
export type FiguresOf = string | null;

export interface FigureCache<Figures> {
  /** The figures, of the time of the last load. `stamp` tells whether the owner's rows have changed since. */
  find(of: FiguresOf, load: Load<Figures>): Promise<Figures>;
  /** Forgets the figures of this owner and those of all owners. */
  drop(owner: string): void;
}

interface Load<Figures> {
  figures(): Promise<Figures>;
  stamp(): Promise<string>;
}

interface Entry<Figures> {
  figures: Figures;
  stamp: string;
  until: number;
}

/** A dashboard has a kilobyte or two, so this is a few megabytes at most. */
const MAX_ENTRIES = 2_000;

/** Keeps figures in this process for a time. Entries are kept by the asked owner, so that no caller is given another's. */
export function createFigureCache<Figures>(
  ttlMs: number,
  now: () => number = () => performance.now(),
): FigureCache<Figures> {
  const entries = new Map<FiguresOf, Entry<Figures>>();
  let drops = 0;
  return {
    async find(of, { figures: load, stamp: readStamp }) {
      if (ttlMs === 0) return load();
      // Read before the figures, so that a change in between makes the entry old and never young.
      const stamp = await readStamp();
      const known = entries.get(of);
      if (known && known.until > now() && known.stamp === stamp) return known.figures;
      const dropsBefore = drops;
      const figures = await load();
      entries.delete(of);
      if (dropsBefore === drops) entries.set(of, { figures, stamp, until: now() + ttlMs });
      // A map keeps the order of insertion, so the first is the oldest.
      for (const oldest of entries.keys()) {
        if (entries.size <= MAX_ENTRIES) break;
        entries.delete(oldest);
      }
      return figures;
    },
    drop(owner) {
      drops += 1;
      entries.delete(owner);
      entries.delete(null);
    },
  };
}
