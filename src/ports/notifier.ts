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
  /** Set where one person alone is told, at this address, of an item that concerns them; null elsewhere. */
  mailTo: string | null;
  payload: JsonObject;
  at: Date;
  /** What that person reads, where there is more to say than the sentence. */
  letter?: Letter;
}

export interface Letter {
  subject: string;
  text: string;
}

export type ChannelName = 'log' | 'webhook' | 'smtp' | 'slack';

/** Whom a notice is for. */
export type Addressed = Pick<Notice, 'owner' | 'mailTo'>;

/** One way to tell somebody. */
export interface Notifier {
  /** Whether there is somebody at the other end for this one. Asked once for each notice. */
  reaches(notice: Addressed): boolean;
  /** Resolves when the receiver has taken it. Rejects with an AppError: `delivery_refused`, trying again can't help, or
   *  `delivery_failed`, it can; `facts.retryAfterMs` is when the receiver asked for it. Ends soon after `signal` is aborted. */
  deliver(notice: Notice, signal: AbortSignal): Promise<void>;
}

/** Those that are configured. The log is always there, so that no notice is lost for want of a channel. */
export type Channels = Readonly<{ log: Notifier } & Partial<Record<ChannelName, Notifier>>>;
