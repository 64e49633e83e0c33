import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../../src/start/parts/from-domains.js';
import { submissionDomain } from '../../../../src/domains/submission/domain.js';
import { settingsOf } from '../../../../src/start/parts/domain.js';
import { createConfiguredJudge } from '../../../../src/domains/submission/start/judge.js';

async function versionWith(environment: Record<string, string>): Promise<string> {
  return (await createConfiguredJudge(settingsOf(loadConfig(environment), submissionDomain))).version;
}

describe('the judge that is configured', () => {
  it.each([
    [{}, 'rules-v1:f3'],
    [{ JUDGE_PROVIDER: 'anthropic', JUDGE_MODEL: 'm', JUDGE_API_KEY: 'k' }, 'anthropic:m:p1:f3'],
    [
      { JUDGE_PROVIDER: 'openai-compatible', JUDGE_MODEL: 'm', JUDGE_URL: 'http://127.0.0.1/v1' },
      'openai-compatible:m:p1:f3',
    ],
  ])('by %o is %s', async (environment, version) => {
    expect(await versionWith(environment)).toBe(version);
  });
});
