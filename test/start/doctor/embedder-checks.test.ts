import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config.js';
import type { Patient } from '../../../src/start/doctor/check.js';
import { embedderChecks } from '../../../src/start/doctor/embedder-checks.js';

function check(embedder: Config['embedder']) {
  return embedderChecks[0]!.run({ config: { embedder } } as unknown as Patient);
}

describe('the embedder', () => {
  it('is in order where nothing is set, because the model comes with the program', async () => {
    expect(await check(null)).toEqual({
      level: 'ok',
      says: 'Texts are embedded by the model use-lite-en-1 in this program, in 512 dimensions.',
    });
  });

  it('is a problem where its service does not answer, and the remedy names the settings', async () => {
    const url = 'http://127.0.0.1:9/v1';
    const finding = await check({ url, apiKey: undefined, model: 'm', dimension: undefined, timeoutMs: 5_000 });

    expect(finding).toMatchObject({ level: 'problem', remedy: expect.stringContaining('EMBEDDER_URL') as string });
  });
});
