import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALICE, openApi, type TestApi, tokenOf } from '../../../api/setup.js';
import { runChild } from '../../../start/run-child.js';
import { createFakeEmbedder } from '../support/fake-embedder.js';
import { storeFile } from '../support/ready-files.js';

const embedder = createFakeEmbedder();
let api: TestApi;
let given: string[];
beforeAll(async () => {
  api = await openApi({ embedder: async () => embedder });
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = api.app.server.address() as AddressInfo;
  given = ['--url', `http://127.0.0.1:${port}`, '--token', await tokenOf(ALICE)];
  await storeFile(api.database.pool, { owner: ALICE.sub, name: 'metals.pdf', texts: ['The zinc roof.'], embedder });
});
afterAll(() => api.close());

async function search(...args: string[]) {
  const child = runChild('src/domains/file/start/search.ts', [...args, ...given], { env: {} });
  const code = await child.exited;
  const lines = child.output().trimEnd().split('\n');
  return { code, lines, figures: JSON.parse(lines.at(-1) ?? '') as Record<string, unknown> };
}

describe('npm run search', () => {
  it('prints the passages of the token’s owner with their file, and the whole answer as JSON', async () => {
    const { code, lines, figures } = await search('zinc', 'roofs');

    expect(code).toBe(0);
    expect(lines[0]).toMatch(/^1\. metals\.pdf, by words and meaning, /);
    expect(lines[1]).toBe('   The zinc roof.');
    expect(figures).toMatchObject({ ok: true, degraded: false, passages: [{ fileName: 'metals.pdf' }] });
  });

  it('passes on the sentence with which the API refuses a query', async () => {
    const { code, figures } = await search('zinc', '--limit', '99');

    expect(code).toBe(3);
    expect(figures).toMatchObject({ ok: false, problem: expect.stringContaining('limit') as string });
  });
});
