import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApi, type TestApi } from './setup.js';

let api: TestApi;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

interface DocumentedCall {
  method: 'GET' | 'POST';
  url: string;
  body: string | undefined;
}

/** The calls of the runbooks, as a reader would type them. */
const CALL = /call (?:-X (POST) )?"\$API([^"]*)"(?: -d '([^']*)')?/g;

const calls: DocumentedCall[] = [...read('docs/operations.md').matchAll(CALL)].map(([, method, url = '', body]) => ({
  method: method === 'POST' ? 'POST' : 'GET',
  url: `/api/v1${url}`,
  body,
}));

const NOBODY = '00000000-0000-7000-8000-000000000000';
const ADMIN = { sub: 'adam', roles: ['admin' as const] };

describe('the runbooks', () => {
  it('have calls', () => {
    expect(calls.length).toBeGreaterThan(20);
  });

  it.each(calls)(
    'call a route that is there, with what it takes: $method $url $body',
    async ({ method, url, body }) => {
      const response = await api.call({
        method,
        url: url.replace('$ID', NOBODY),
        as: ADMIN,
        ...(body !== undefined && { payload: body, headers: { 'content-type': 'application/json' } }),
      });
      // That nobody is there is no item, no pause and no breaker: the route said so, and took what it was sent.
      const { detail = '' } = response.json<{ detail?: string }>();
      expect(detail).not.toMatch(/no route|no such route/i);
      expect([200, 202, 404, 409]).toContain(response.statusCode);
      if (response.statusCode === 404) expect(detail).toMatch(/there is no item|has no breaker/);
      if (response.statusCode === 409) expect(detail).toMatch(/is not paused/);
    },
  );
});

function read(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
}
