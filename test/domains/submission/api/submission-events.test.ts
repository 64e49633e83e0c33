import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { ALICE, BOB, submit, type TestApi, tokenOf } from '../../../api/setup.js';
import { readEvents } from '../../../support/event-reader.js';
import { openSubmissionApi } from '../support/api.js';
import { makeSubmission } from '../support/submissions.js';

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi();
  await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => api.close());

it('tells the events of a submission under its own address too, after all that this address shows, and of nothing else', async () => {
  const id = await makeSubmission(api.database.pool, { owner: 'alice' });
  const { port } = api.app.server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${await tokenOf(ALICE)}` };
  const reader = await readEvents(`http://127.0.0.1:${String(port)}/api/v1/submissions/${id}/events`, headers);
  onTestFinished(() => reader.hangUp());
  await reader.sees('the snapshot', (events) => events.length > 0);
  expect(reader.events[0]).toMatchObject({
    event: 'snapshot',
    data: {
      ...{ id, pipeline: 'submission', state: 'RECEIVED', skillName: 'pdf', scan: null, judgement: null, why: null },
      ...{ queue: { position: 1 }, history: [{ toState: 'RECEIVED' }] },
    },
  });

  const canary = await submit(api, ALICE);
  const foreign = { url: `/api/v1/submissions/${canary.id}/events`, as: ALICE };
  expect((await api.call(foreign)).statusCode).toBe(404);
  expect((await api.call({ url: `/api/v1/submissions/${id}/events`, as: BOB })).statusCode).toBe(404);
});
