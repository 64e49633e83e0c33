import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSlackNotifier } from '../../src/adapters/notifier-slack.js';
import { noticeOf, notifierContract, PATIENT } from '../ports/notifier-contract.js';
import { type Receiver, startReceiver } from './receiver.js';

function textIn(body: string): string {
  return (JSON.parse(body) as { text: string }).text;
}

notifierContract('Slack', async () => {
  const receiver = await startReceiver();
  return {
    notifier: createSlackNotifier({ url: receiver.url, allowPrivate: true }),
    received: () => receiver.received.map(({ body }) => ({ identity: textIn(body), text: textIn(body) })),
    behave: (mood) => receiver.behave(mood),
    close: () => receiver.close(),
  };
});

describe('an alert in Slack', () => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.close());

  it('names its item and wakes nobody, whatever the sentence holds', async () => {
    const notifier = createSlackNotifier({ url: receiver.url, allowPrivate: true });
    const notice = noticeOf({ kind: 'breaker_opened', itemId: null, sentence: '<!channel> a < b & c > d' });

    await notifier.deliver(notice, PATIENT);

    expect(JSON.parse(receiver.received[0]?.body ?? '')).toEqual({
      text: '*breaker opened* (canary): &lt;!channel&gt; a &lt; b &amp; c &gt; d',
    });
  });

  it('is for operators, and not for owners', () => {
    const notifier = createSlackNotifier({ url: receiver.url, allowPrivate: true });
    expect(notifier.reaches({ owner: 'alice@example.com', mailTo: null })).toBe(false);
    expect(notifier.reaches({ owner: null, mailTo: 'alice@example.com' })).toBe(false);
  });
});
