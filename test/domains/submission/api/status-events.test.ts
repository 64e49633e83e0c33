import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createStatusLinks } from '../../../../src/api/items/status-links.js';
import { STATUS_LINKS } from '../../../../src/domains/submission/api/status-links.js';
import { ALICE, SECRET, type TestApi } from '../../../api/setup.js';
import { type EventReader, readEvents } from '../../../support/event-reader.js';
import { openSubmissionApi } from '../support/api.js';
import { submitted } from '../support/skills.js';

const { statusUrlOf } = createStatusLinks({ secret: SECRET, publicUrl: undefined }, STATUS_LINKS);

let api: TestApi;
beforeAll(async () => {
  api = await openSubmissionApi({ limits: { maxStreamsPerCaller: 2 } });
  await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => api.close());

async function follow(id: string): Promise<EventReader> {
  const { port } = api.app.server.address() as AddressInfo;
  const reader = await readEvents(`http://127.0.0.1:${String(port)}${statusUrlOf(id) ?? ''}/events`, {});
  onTestFinished(() => reader.hangUp());
  return reader;
}

it('the stream of a status link tells anybody the status, and again when it has changed, and no more than the link shows', async () => {
  const id = await submitted(api.database.pool, { email: 'private@example.org' });
  const reader = await follow(id);
  await reader.sees('the status', (events) => events.length > 0);
  const shown = (await api.call({ url: statusUrlOf(id) ?? '' })).json<object>();
  expect(Object.keys(reader.events[0]?.data ?? {})).toEqual(Object.keys(shown));
  expect(reader.events[0]).toMatchObject({ event: 'status', data: { id, state: 'RECEIVED', why: null } });

  await api.call({
    ...{
      method: 'POST',
      url: `/api/v1/items/${id}/cancel`,
      as: { ...ALICE, sub: 'ada' },
      payload: { reason: 'enough' },
    },
  });

  await reader.sees('the end', (events) => events.at(-1)?.data['state'] === 'REJECTED');
  expect(reader.events.at(-1)).toMatchObject({ event: 'status', data: { why: { summary: 'It was cancelled.' } } });
  expect(new Set(reader.events.map(({ event }) => event))).toEqual(new Set(['status']));
  expect(JSON.stringify(reader.events.map(({ data }) => ({ ...data, id: '' })))).not.toMatch(/private@|"ada"|worker/);
});

it('the stream of a token that is not ours leads nowhere', async () => {
  const response = await api.call({ url: `${STATUS_LINKS.path}/${'x'.repeat(64)}/events` });
  expect(response.statusCode).toBe(404);
  expect(response.json()).toMatchObject({ detail: 'this link leads to no submission' });
});

it('the stream is open to as many readers of one address at once as one caller may have', async () => {
  const id = await submitted(api.database.pool, { skillName: 'busy' });
  const [one, other, third] = [await follow(id), await follow(id), await follow(id)];
  expect([one.status, other.status, third.status]).toEqual([200, 200, 429]);
});
