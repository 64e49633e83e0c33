import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { watchBody } from '../../../src/api/http/watch-body.js';

it('a sender that goes before anybody listens leaves a destroyed stream, and no error without a listener', async () => {
  const body = new PassThrough();
  const watched = watchBody(body);
  body.destroy(new Error('connection reset'));
  await new Promise((resolve) => watched.once('close', resolve));

  expect(watched.errored).toMatchObject({ code: 'invalid_input' });
  // An error event that nobody hears ends the process; this one is heard.
  expect(watched.listenerCount('error')).toBe(1);
});
