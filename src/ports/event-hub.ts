/** A place in the feed of moves: the transaction that wrote an entry, and the entry's id. The id alone does not order
 *  the feed, because an entry with a smaller id may be committed later, and a reader that has passed its id would never
 *  see it. */
export interface FeedPosition {
  xact: string;
  id: string;
}

export interface FeedEvent extends FeedPosition {
  itemId: string;
  pipeline: string;
  owner: string;
  version: number;
  from: string | null;
  to: string;
  trigger: string;
  actor: string;
  actorType: string;
  at: Date;
}

/** Hears of moves: of all items, or of the items of one owner or one pipeline. */
export interface FeedListener {
  owner: string | null;
  pipeline: string | null;
  send(event: FeedEvent): void;
  /** Called when the missed moves can't be told: the listener was away for too long, or its position is of another
   *  database. */
  reset(): void;
}

export interface Following {
  /** The listener has been sent all its moves up to here. */
  position(): FeedPosition;
  stop(): void;
}

/** How far an item is, and which of its tasks run. */
export interface ItemPulse {
  id: string;
  version: number;
  inflight: {
    stage: string;
    unit: string;
    attempt: number;
    worker: string | null;
    startedAt: string;
    beatAt: string;
    progress: Record<string, unknown> | null;
  }[];
}

/** Tells listeners of moves and of items as they happen. */
export interface EventHub {
  /** Sends the moves after a position without a gap, then each new move; null: new moves only. */
  follow(listener: FeedListener, after: FeedPosition | null): Promise<Following>;
  /** Sends the item's pulse about once a second, until the returned function is called. */
  watch(itemId: string, send: (pulse: ItemPulse) => void): () => void;
}
