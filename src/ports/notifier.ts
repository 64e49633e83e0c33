import type { JsonObject } from './stage.js';

/** What somebody is told of. */
export interface Notice {
  /** Names the occasion. A receiver that has seen it may drop the second: after a crash it may come twice. */
  id: string;
  kind: string;
  sentence: string;
  pipeline: string | null;
  itemId: string | null;
  /** Set where the owner is told; null, operators are. */
  owner: string | null;
  payload: JsonObject;
  at: Date;
}

export type ChannelName = 'log' | 'webhook' | 'smtp' | 'slack';

/** One way to tell somebody. */
export interface Notifier {
  /** Whether there is somebody at the other end for this one. Asked once for each notice. */
  reaches(notice: Pick<Notice, 'owner'>): boolean;
  /** Resolves when the receiver has taken it. Rejects with an AppError: `delivery_refused`, trying again can't help, or
   *  `delivery_failed`, it can; `facts.retryAfterMs` is when the receiver asked for it. Ends soon after `signal` is aborted. */
  deliver(notice: Notice, signal: AbortSignal): Promise<void>;
}

/** Those that are configured. The log is always there, so that no notice is lost for want of a channel. */
export type Channels = Readonly<{ log: Notifier } & Partial<Record<ChannelName, Notifier>>>;
