import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALICE, tokenOf } from '../../../api/setup.js';
import { type FileApi, openFileApi, registerOne, send } from '../support/api.js';

let api: FileApi;
let url: string;
beforeAll(async () => {
  api = await openFileApi();
  await api.app.listen({ port: 0, host: '127.0.0.1' });
  url = `http://127.0.0.1:${(api.app.server.address() as AddressInfo).port}`;
});
afterAll(() => api.close());

it('shows the file first and then its moves, as they happen', async () => {
  const one = await registerOne(api, ALICE);
  const stop = new AbortController();
  const response = await fetch(`${url}/api/v2/files/${one.fileId}/events`, {
    headers: { authorization: `Bearer ${await tokenOf(ALICE)}` },
    signal: stop.signal,
  });
  expect(response.status).toBe(200);
  const decoder = new TextDecoder();
  let seen = '';
  let isSent = false;
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    seen += decoder.decode(part, { stream: true });
    if (!isSent && seen.includes('event: snapshot')) {
      isSent = true;
      await send(api, one.uploadUrl);
    }
    if (seen.includes('event: move')) break;
  }
  stop.abort();
  expect(seen).toContain('"name":"a.txt"');
  expect(seen).toMatch(/"to":"uploaded"/);
});
