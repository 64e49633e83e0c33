import { createHash } from 'node:crypto';
import { Socket } from 'node:net';
import { createTransport } from 'nodemailer';
import type { Logger } from 'pino';
import { AppError } from '../core/errors.js';
import { isMailAddress } from '../core/mail-address.js';
import type { Addressed, Letter, Notice, Notifier } from '../ports/notifier.js';

export interface SmtpOptions {
  /** smtp://user:password@host:587 or smtps://… */
  url: string;
  from: string;
  /** The operators' addresses. */
  to: readonly string[];
  logger: Logger;
}

/** Mail programs show less of a subject. */
const MAX_SUBJECT_CHARACTERS = 150;

export function createSmtpNotifier({ url, from, to, logger }: SmtpOptions): Notifier {
  function recipientsOf({ owner, mailTo }: Addressed): readonly string[] {
    const person = mailTo ?? owner;
    if (person === null) return to;
    return isMailAddress(person) ? [person] : [];
  }
  return {
    reaches: (notice) => recipientsOf(notice).length > 0,
    async deliver(notice, signal) {
      const recipients = recipientsOf(notice);
      if (recipients.length === 0) throw new AppError('delivery_refused', 'nobody in it has a mail address');
      const { rejected } = await send(url, mailOf(notice, from, recipients), signal);
      // The other recipients have the mail. A second try would send it to them twice.
      if (rejected.length > 0) logger.warn({ event: notice.id, rejected }, 'mail server refused some recipients');
    },
  };
}

function mailOf(notice: Notice, from: string, recipients: readonly string[]) {
  const { subject, text } = notice.letter ?? noteOf(notice);
  return {
    from,
    // Objects and not text, so that no part of an address is read as a list, a name or a header.
    to: recipients.map((address) => ({ name: '', address })),
    envelope: { from, to: [...recipients] },
    subject: `[unstuck] ${oneLine(subject)}`.slice(0, MAX_SUBJECT_CHARACTERS),
    text: `${text}\n`,
    // The same at every try, so that a mail program recognizes a mail that arrives twice.
    messageId: `<${createHash('sha256').update(notice.id).digest('hex').slice(0, 40)}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** The text for operators and owners, who know the word event. */
function noteOf({ id, sentence, pipeline, itemId, at }: Notice): Letter {
  const about = [pipeline, itemId].filter((part) => part !== null).join(' ');
  const lines = [sentence, '', ...(about ? [`About: ${about}`] : []), `At: ${at.toISOString()}`, `Event: ${id}`];
  return { subject: sentence, text: lines.join('\n') };
}

function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}

/** Sends each mail over a new connection, on a socket that we can close. nodemailer has a limit for each step but
 *  none for the whole, so a server that trickles would keep it for ever. */
async function send(
  url: string,
  mail: ReturnType<typeof mailOf>,
  signal: AbortSignal,
): Promise<{ rejected: string[] }> {
  const socket = new Socket();
  function giveUp(): void {
    socket.destroy(new Error('no answer in time'));
  }
  signal.addEventListener('abort', giveUp);
  try {
    signal.throwIfAborted();
    return await createTransport({ url, socket, ...encryptionOf(url) }).sendMail(mail);
  } catch (error) {
    throw failureOf(error);
  } finally {
    signal.removeEventListener('abort', giveUp);
    socket.destroy();
  }
}

/** A password is not sent in the clear, even if an attacker on the way removes STARTTLS from the server's greeting. */
function encryptionOf(url: string): { requireTLS?: boolean } {
  const { protocol, password } = new URL(url);
  return protocol === 'smtp:' && password !== '' ? { requireTLS: true } : {};
}

/** A 5xx about the mail or its recipients is final. A 5xx about us (a login, a policy) is not, because an operator
 *  may put it right. */
function failureOf(error: unknown): AppError {
  const { message, code, responseCode } = error as { message?: string; code?: string; responseCode?: number };
  const isAboutMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  const isFinal = isAboutMail && responseCode !== undefined && responseCode >= 500;
  return new AppError(isFinal ? 'delivery_refused' : 'delivery_failed', message ?? 'the mail server failed', {
    cause: error,
  });
}
