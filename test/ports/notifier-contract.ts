import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Notice, Notifier } from '../../src/ports/notifier.js';

/** How the other end of the wire behaves from now on. */
export type Mood = 'well' | 'overloaded' | 'refusing' | 'silent' | 'gone';

export interface Message {
  /** The id by which a receiver recognizes a message. */
  identity: string;
  text: string;
}

/** A channel, and the receiver at its other end. */
export interface Line {
  notifier: Notifier;
  received(): readonly Message[];
  behave?(mood: Mood): Promise<void> | void;
  close(): Promise<void>;
}

export function noticeOf(given: Partial<Notice> = {}): Notice {
  return {
    id: `item_exhausted:${randomUUID()}:3`,
    kind: 'item_exhausted',
    sentence: 'It was rescued three times and still does not move.',
    pipeline: 'canary',
    itemId: randomUUID(),
    owner: null,
    mailTo: null,
    payload: { rescues: 3 },
    at: new Date('2026-11-16T12:00:00Z'),
    ...given,
  };
}

/** Never aborted within a test. */
export const PATIENT = new AbortController().signal;

const HOSTILE = [
  'a line\r\nBcc: everybody@example.com\r\n\r\nand a body',
  '<!channel> & <https://example.com|click>',
  'ünïcödé 🚨 \u202e right to left',
  '"quoted", \\escaped\\ and `ticked`',
  'long '.repeat(4_000),
];

/** The promises of every channel. A channel without a receiver can't fail. */
export function notifierContract(name: string, open: () => Promise<Line>, { hasReceiver = true } = {}): void {
  describe(`${name} keeps a notifier's promises`, () => {
    let line: Line;
    beforeAll(async () => {
      line = await open();
    });
    beforeEach(() => line.behave?.('well'));
    afterAll(() => line.close());

    async function sent(notice: Notice): Promise<readonly Message[]> {
      const before = line.received().length;
      await line.notifier.deliver(notice, PATIENT);
      return line.received().slice(before);
    }

    it('reaches the operators', () => {
      expect(line.notifier.reaches({ owner: null, mailTo: null })).toBe(true);
    });

    it('delivers one message that says what happened', async () => {
      const messages = await sent(noticeOf({ sentence: 'The queue has no worker.' }));

      expect(messages).toHaveLength(1);
      expect(messages[0]?.text).toContain('The queue has no worker.');
    });

    it('sends the same notice again under the same identity, and another notice under another', async () => {
      const notice = noticeOf();
      const [first] = await sent(notice);
      const [again] = await sent(notice);
      const [other] = await sent(noticeOf());

      expect(first?.identity).toBeTruthy();
      expect(again).toEqual(first);
      expect(other?.identity).not.toBe(first?.identity);
    });

    it.each(HOSTILE)('delivers whatever a sentence holds: %j', async (sentence) => {
      expect(await sent(noticeOf({ sentence, id: `breaker_opened:${sentence.slice(0, 40)}` }))).toHaveLength(1);
    });

    if (!hasReceiver) return;

    it.each([
      ['overloaded', 'delivery_failed'],
      ['gone', 'delivery_failed'],
      ['refusing', 'delivery_refused'],
    ] as const)('says of a receiver that is %s: %s', async (mood, code) => {
      await line.behave?.(mood);

      await expect(line.notifier.deliver(noticeOf(), PATIENT)).rejects.toMatchObject({ code });
    });

    it('gives up on a silent receiver as soon as the caller stops', async () => {
      await line.behave?.('silent');

      for (const signal of [AbortSignal.timeout(200), AbortSignal.abort()]) {
        await expect(line.notifier.deliver(noticeOf(), signal)).rejects.toMatchObject({ code: 'delivery_failed' });
      }
    });
  });
}
