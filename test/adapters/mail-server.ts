import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { Mood } from '../ports/notifier-contract.js';

export interface Mail {
  from: string;
  to: string[];
  /** The mail as it came over the wire. */
  raw: string;
}

export interface MailServer {
  port: number;
  mails: Mail[];
  behave(mood: Mood): void;
  close(): Promise<void>;
}

/** A real SMTP server on this machine. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  let mood: Mood = 'well';
  const mails: Mail[] = [];
  const sockets = new Set<Socket>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onMailFrom(_address, _session, next) {
      if (mood === 'silent') return;
      if (mood === 'gone') sockets.forEach((socket) => socket.destroy());
      else next(mood === 'overloaded' ? refusal(451, 'come back later') : null);
    },
    onRcptTo({ address }, _session, next) {
      const isRefused = mood === 'refusing' || address.startsWith('nobody@');
      next(isRefused ? refusal(550, 'no such user') : null);
    },
    onData(stream, { envelope }, next) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        mails.push({ from, to, raw: Buffer.concat(chunks).toString() });
        next();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  const listening = server.listen(0, '127.0.0.1');
  listening.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await once(listening, 'listening');
  return {
    port: (listening.address() as AddressInfo).port,
    mails,
    behave(given) {
      mood = given;
    },
    async close() {
      sockets.forEach((socket) => socket.destroy());
      await new Promise<void>((resolve) => {
        server.close(resolve);
      });
    },
  };
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

/** A mail without the line breaks and escapes of its encoding (quoted-printable). */
export function textOf(mail: Mail | undefined): string {
  return (mail?.raw ?? '')
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
