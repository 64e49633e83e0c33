import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWebhookNotifier } from '../../src/adapters/notifier-webhook.js';
import { noticeOf, notifierContract, PATIENT } from '../ports/notifier-contract.js';
import { type Receiver, startReceiver } from './receiver.js';

const SECRET = `whsec_${Buffer.alloc(32, 'secret').toString('base64')}`;

notifierContract('the webhook', async () => {
  const receiver = await startReceiver();
  return {
    notifier: createWebhookNotifier({ url: receiver.url, secret: SECRET, allowPrivate: true }),
    received: () =>
      receiver.received.map(({ headers, body }) => {
        const { data } = JSON.parse(body) as { data: { sentence: string } };
        return { identity: String(headers['webhook-id']), text: data.sentence };
      }),
    behave: (mood) => receiver.behave(mood),
    close: () => receiver.close(),
  };
});

describe('a webhook', () => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.close());

  async function posted(notice = noticeOf()) {
    const notifier = createWebhookNotifier({ url: receiver.url, secret: SECRET, allowPrivate: true });
    await notifier.deliver(notice, PATIENT);
    const last = receiver.received.at(-1);
    if (!last) throw new Error('nothing came');
    return { ...last, headers: last.headers as Record<string, string> };
  }

  it('is signed so that the standard’s library accepts it, and rejects a body that was changed on the way', async () => {
    const { body, headers } = await posted();

    expect(new Webhook(SECRET).verify(body, headers)).toMatchObject({ type: 'item_exhausted' });
    expect(() => new Webhook(SECRET).verify(body.replace('3', '4'), headers)).toThrow();
    expect(() => new Webhook(SECRET).verify(body, { ...headers, 'webhook-id': 'another' })).toThrow();
    expect(() => new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(body, headers)).toThrow();
  });

  it('is signed at the time of the try, so that receivers accept an event that is days old', async () => {
    const { body, headers } = await posted(noticeOf({ at: new Date('2020-01-01T00:00:00Z') }));

    expect(new Webhook(SECRET).verify(body, headers)).toMatchObject({ timestamp: '2020-01-01T00:00:00.000Z' });
  });

  it('carries the event’s id and all its fields', async () => {
    const notice = noticeOf({ owner: 'alice' });

    const { headers, body } = await posted(notice);

    expect(headers['webhook-id']).toBe(notice.id);
    expect(headers['content-type']).toBe('application/json');
    const { kind, at, id, sentence, pipeline, itemId, owner, payload } = notice;
    const data = { id, sentence, pipeline, itemId, owner, payload };
    expect(JSON.parse(body)).toEqual({ type: kind, timestamp: at.toISOString(), data });
  });

  it('encodes an id that no header can hold, always in the same form', async () => {
    const { body, headers } = await posted(noticeOf({ id: 'breaker_opened:größe\r\nx-evil: 1' }));

    expect(headers['webhook-id']).toBe('breaker_opened:gr%C3%B6%C3%9Fe%0D%0Ax-evil:%201');
    expect(headers).not.toHaveProperty('x-evil');
    expect(new Webhook(SECRET).verify(body, headers)).toBeTruthy();
  });

  it('reaches owners too', () => {
    const notifier = createWebhookNotifier({ url: receiver.url, secret: SECRET, allowPrivate: true });
    expect(notifier.reaches({ owner: 'alice', mailTo: null })).toBe(true);
    expect(notifier.reaches({ owner: null, mailTo: 'alice@example.org' })).toBe(false);
  });
});
