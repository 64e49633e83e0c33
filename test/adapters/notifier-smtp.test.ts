import { pino } from 'pino';
import type { SMTPServerOptions } from 'smtp-server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSmtpNotifier, type SmtpOptions } from '../../src/adapters/notifier-smtp.js';
import { noticeOf, notifierContract, PATIENT } from '../ports/notifier-contract.js';
import { type Mail, startMailServer } from './mail-server.js';

const OPERATORS = ['ops@example.com', 'night@example.com'];
const logger = pino({ level: 'silent' });

function notifierOf(port: number, given: Partial<SmtpOptions> = {}) {
  const url = `smtp://127.0.0.1:${port}`;
  return createSmtpNotifier({ url, from: 'unstuck@example.com', to: OPERATORS, logger, ...given });
}

/** The lines of a header, unfolded. */
function headersOf({ raw }: Mail): string[] {
  return (raw.split('\r\n\r\n')[0] ?? '').replace(/\r\n[ \t]+/g, ' ').split('\r\n');
}

function headerOf(mail: Mail, name: string): string | undefined {
  return headersOf(mail)
    .find((line) => line.toLowerCase().startsWith(`${name}: `))
    ?.slice(name.length + 2);
}

notifierContract('mail', async () => {
  const server = await startMailServer();
  return {
    notifier: notifierOf(server.port),
    received: () =>
      server.mails.map((mail) => ({
        identity: headerOf(mail, 'message-id') ?? '',
        text: mail.raw.split('\r\n\r\n')[1] ?? '',
      })),
    behave: (mood) => server.behave(mood),
    close: () => server.close(),
  };
});

describe('a mail', () => {
  async function sent(notice = noticeOf(), given: Partial<SmtpOptions> = {}): Promise<Mail> {
    const server = await startMailServer();
    onTestFinished(() => server.close());
    await notifierOf(server.port, given).deliver(notice, PATIENT);
    expect(server.mails).toHaveLength(1);
    return server.mails[0] as Mail;
  }

  it('goes to the operators when it names no owner', async () => {
    const mail = await sent();

    expect(mail).toMatchObject({ from: 'unstuck@example.com', to: OPERATORS });
    expect(headerOf(mail, 'subject')).toBe('[unstuck] It was rescued three times and still does not move.');
    expect(headerOf(mail, 'auto-submitted')).toBe('auto-generated');
  });

  it('goes to the owner alone when it names an owner', async () => {
    expect(await sent(noticeOf({ owner: 'alice@example.org' }))).toMatchObject({ to: ['alice@example.org'] });
  });

  it.each(['alice', 'alice@example.org, eve@example.org', 'eve@example.org\r\nBcc: all@example.org', '"a b"@x.y', ''])(
    'goes to no owner who is not one plain address: %j',
    async (owner) => {
      const notifier = notifierOf(1);
      for (const whom of [
        { owner, mailTo: null },
        { owner: null, mailTo: owner },
      ]) {
        expect(notifier.reaches(whom)).toBe(false);
        await expect(notifier.deliver(noticeOf(whom), PATIENT)).rejects.toMatchObject({ code: 'delivery_refused' });
      }
    },
  );

  it('reaches nobody when it names no owner and there are no operators', () => {
    expect(notifierOf(1, { to: [] }).reaches({ owner: null, mailTo: null })).toBe(false);
    expect(notifierOf(1, { to: [] }).reaches({ owner: 'alice@example.org', mailTo: null })).toBe(true);
  });

  it('carries the letter, if there is one, to its addressee and to nobody else', async () => {
    const letter = { subject: 'tidy\r\nBcc: eve@example.org was not published', text: 'Line one.\n.\nLine three.' };

    const mail = await sent(noticeOf({ owner: 'bob@example.org', mailTo: 'alice@example.org', letter }));

    expect(mail.to).toEqual(['alice@example.org']);
    expect(headersOf(mail).filter((line) => /^bcc/i.test(line))).toEqual([]);
    expect(headerOf(mail, 'subject')).toBe('[unstuck] tidy Bcc: eve@example.org was not published');
    expect(mail.raw).toContain('Line one.\r\n.\r\nLine three.');
    expect(mail.raw).not.toContain('Event:');
  });

  it('gets no header from the text of a sentence or an id', async () => {
    const evil = 'x\r\nBcc: eve@example.org\r\nX-Evil: 1\r\n\r\nbody';

    const mail = await sent(noticeOf({ sentence: evil, id: evil, kind: evil, pipeline: evil }));

    expect(mail.to).toEqual(OPERATORS);
    expect(headersOf(mail).filter((line) => /^(bcc|x-evil)/i.test(line))).toEqual([]);
    expect(headerOf(mail, 'message-id')).toMatch(/^<[0-9a-f]{40}@example\.com>$/);
  });

  it('counts as delivered when one of several recipients is unknown', async () => {
    const mail = await sent(noticeOf(), { to: ['ops@example.com', 'nobody@example.com'] });

    expect(mail.to).toEqual(['ops@example.com']);
  });
});

describe('a mail server that asks for a password', () => {
  type OnAuth = NonNullable<SMTPServerOptions['onAuth']>;
  const onAuth: OnAuth = ({ username, password }, _session, next) => {
    if (username === 'ops' && password === 'p@ss') next(null, { user: 'ops' });
    else next(new Error('no'));
  };
  const locked = { authOptional: false, onAuth };

  it.each([
    ['STARTTLS', 'smtp', { disabledCommands: [] }],
    ['TLS from the beginning', 'smtps', { secure: true }],
  ])('gets the password, by %s', async (_, protocol, options) => {
    const server = await startMailServer({ ...locked, ...options });
    onTestFinished(() => server.close());
    const url = `${protocol}://ops:p%40ss@127.0.0.1:${server.port}/?tls.rejectUnauthorized=false`;

    await notifierOf(server.port, { url }).deliver(noticeOf(), PATIENT);

    expect(server.mails).toHaveLength(1);
  });

  it('does not get the password in the clear', async () => {
    let asked = 0;
    const anybody: OnAuth = (_given, _session, next) => {
      asked += 1;
      next(null, { user: 'ops' });
    };
    const server = await startMailServer({ ...locked, onAuth: anybody, allowInsecureAuth: true });
    onTestFinished(() => server.close());
    const url = `smtp://ops:secret@127.0.0.1:${server.port}/`;

    await expect(notifierOf(server.port, { url }).deliver(noticeOf(), PATIENT)).rejects.toMatchObject({
      code: 'delivery_failed',
    });

    expect(asked).toBe(0);
  });

  it('may refuse the password: the mail is not given up, because an operator can put it right', async () => {
    const server = await startMailServer({ ...locked, secure: true });
    onTestFinished(() => server.close());
    const url = `smtps://ops:wrong@127.0.0.1:${server.port}/?tls.rejectUnauthorized=false`;

    const error = (await notifierOf(server.port, { url })
      .deliver(noticeOf(), PATIENT)
      .catch((caught: unknown) => caught)) as Error;

    expect(error).toMatchObject({ code: 'delivery_failed' });
    expect(error.message).not.toContain('wrong');
  });
});
