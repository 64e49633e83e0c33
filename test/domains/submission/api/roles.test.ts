import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REVIEWER, type TestApi, VIEWER, type Who } from '../../../api/setup.js';
import { openSubmissionApi } from '../support/api.js';

let api: TestApi;
/** The addresses of all lists and figures, which need no id. */
let readable: string[];
beforeAll(async () => {
  api = await openSubmissionApi();
  const document = (await api.app.inject({ url: '/openapi.json' })).json<{ paths: Record<string, object> }>();
  readable = Object.entries(document.paths)
    .filter(([path, item]) => 'get' in item && !path.includes('{') && !path.endsWith('/events'))
    .map(([path]) => path);
});
afterAll(() => api.close());

async function refusedTo(as: Who): Promise<string[]> {
  const refused: string[] = [];
  for (const url of readable) if ((await api.call({ url, as })).statusCode === 403) refused.push(url);
  return refused.sort();
}

describe('the table of roles in docs/submissions.md', () => {
  it('lets a viewer see everything, as it says', async () => {
    expect(await refusedTo(VIEWER)).toEqual([]);
  });

  it('promises a reviewer every submission, and nothing that is refused to them', async () => {
    const page = readFileSync(new URL('../../../../docs/submissions.md', import.meta.url), 'utf8');
    expect(/^\| reviewer \| (.*?) *\|$/m.exec(page)?.[1]).toBe(
      'see every submission; escalate, approve and reject those of others',
    );
    expect(await refusedTo(REVIEWER)).toEqual([
      '/api/v1/admin/queue/status',
      '/api/v1/breakers',
      '/api/v1/metrics/hours',
      '/api/v1/operator-actions',
      '/api/v1/schedules',
      '/metrics',
    ]);
  });
});
