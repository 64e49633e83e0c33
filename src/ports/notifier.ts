import type { Sql } from './sql.js';
import type { JsonObject } from './stage.js';

/** A message to an owner, a person or the operators. */
export interface Notice {
  /** Names the occasion. A receiver that has seen it may drop the second: after a crash it may come twice. */
  id: string;
  kind: string;
  sentence: string;
  pipeline: string | null;
  itemId: string | null;
  /** The owner who is told. Null: operators are told. */
  owner: string | null;
  /** The address of the one person who is told of an item that concerns them: the owner's, if there is an owner. Null: the notice is
   *  not for one person, or the owner has left no address. */
  mailTo: string | null;
  payload: JsonObject;
  at: Date;
  /** The mail to that person, if there is more to say than the sentence. */
  letter?: Letter;
}

export interface Letter {
  subject: string;
  text: string;
}

/** Writes the letter about an item of a pipeline that has ended or is soon deleted, as the notice's kind says; null: the notice's
 *  sentence says all. */
export type WriteLetter = (
  sql: Sql,
  itemId: string,
  notice: Pick<Notice, 'kind' | 'payload'>,
) => Promise<Letter | null>;

export type ChannelName = 'log' | 'webhook' | 'smtp' | 'slack';

/** Whom a notice is for. */
export type Addressed = Pick<Notice, 'owner' | 'mailTo'>;

/** One channel for notices. */
export interface Notifier {
  /** Whether this channel can reach the receivers of the notice. It is asked once for each notice. */
  reaches(notice: Addressed): boolean;
  /** Resolves when the receiver has taken it. Rejects with an AppError: `delivery_refused`, trying again can't help, or
   *  `delivery_failed`, it can; `facts.retryAfterMs` is when the receiver asked for it. Ends soon after `signal` is aborted. */
  deliver(notice: Notice, signal: AbortSignal): Promise<void>;
}

/** The configured channels. The log is always among them, so that no notice is lost for want of a channel. */
export type Channels = Readonly<{ log: Notifier } & Partial<Record<ChannelName, Notifier>>>;
