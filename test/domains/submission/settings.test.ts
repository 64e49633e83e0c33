import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/config.js';
import { submissionDomain } from '../../../src/domains/submission/domain.js';
import { DEFAULT_SLA } from '../../../src/domains/submission/core/sla.js';
import type { SubmissionSettings } from '../../../src/domains/submission/settings.js';
import { settingsOf } from '../../../src/start/parts/domain.js';
import { loadConfig } from '../../../src/start/parts/from-domains.js';

function settingsWith(environment: Record<string, string>): SubmissionSettings {
  return settingsOf(loadConfig(environment), submissionDomain);
}

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('the scores that decide', () => {
  it('are 80 and 60, or those that are set', () => {
    expect(settingsWith({}).thresholds).toEqual({ approve: 80, review: 60 });
    expect(settingsWith({ SUBMISSION_APPROVE_SCORE: '100', SUBMISSION_REVIEW_SCORE: '99' }).thresholds).toEqual({
      ...{ approve: 100, review: 99 },
    });
  });

  it('leave room for the decision of a person', () => {
    expect(problemsOf({ SUBMISSION_APPROVE_SCORE: '60' })).toEqual([
      'SUBMISSION_REVIEW_SCORE: expected less than SUBMISSION_APPROVE_SCORE, 60, got 60',
    ]);
    expect(problemsOf({ SUBMISSION_REVIEW_SCORE: '0', SUBMISSION_APPROVE_SCORE: '101' })).toEqual([
      "SUBMISSION_APPROVE_SCORE: expected a whole number from 1 to 100, got '101'",
      "SUBMISSION_REVIEW_SCORE: expected a whole number from 1 to 100, got '0'",
    ]);
  });
});

describe('the time that a stage may take', () => {
  const model = { JUDGE_PROVIDER: 'anthropic', JUDGE_MODEL: 'm', JUDGE_API_KEY: 'k' };

  it('is at least that of the call which it waits for', () => {
    const SUBMISSION_STAGE_WITHIN = 'judgeTier2=30s,fetch=65s,scanTier1=2m';
    const fetching = [
      'SUBMISSION_STAGE_WITHIN: expected at least 70000ms for fetch, which is SUBMISSION_FETCH_TIMEOUT_MS and 10000 ms ' +
        'for a slow database, got 65s',
    ];
    expect(problemsOf({ SUBMISSION_STAGE_WITHIN })).toEqual(fetching);
    expect(problemsOf({ SUBMISSION_STAGE_WITHIN, ...model })).toEqual([
      'SUBMISSION_STAGE_WITHIN: expected at least 70000ms for judgeTier2, which is JUDGE_TIMEOUT_MS and 10000 ms ' +
        'for a slow database, got 30s',
      ...fetching,
    ]);
    const shorter = { JUDGE_TIMEOUT_MS: '20000', SUBMISSION_FETCH_TIMEOUT_MS: '55000' };
    expect(problemsOf({ SUBMISSION_STAGE_WITHIN, ...model, ...shorter })).toEqual([]);
  });
});

describe('the promised times', () => {
  it('are those that are set; the others stay as they are', () => {
    const { sla } = settingsWith({ SUBMISSION_SLA: 'tier2=30000-60000, review=3-5' });
    expect(sla).toEqual({
      ...DEFAULT_SLA,
      tier2: { ...DEFAULT_SLA.tier2, typical: 30_000, p95: 60_000 },
      review: { ...DEFAULT_SLA.review, typical: 3, p95: 5 },
    });
  });

  it.each([
    ['tier2=20000-60000', 'is the bound of no bucket'],
    ['tier2=60000-30000', 'is typically exceeded by nineteen of twenty'],
    ['tier2=30000', 'has one target alone'],
    ['review=0-5', 'is over before it begins'],
    ['review=5-400', 'is longer than a year'],
    ['review=2.5-5', 'is no whole number of days'],
    ['publish=5000-10000', 'is no promise'],
  ])('refuse %s, which %s, with the names and the values that are allowed', (SUBMISSION_SLA) => {
    expect(problemsOf({ SUBMISSION_SLA })).toEqual([
      'SUBMISSION_SLA: expected name=value with commas between them; each name is one of tier1, tier2, approveToPublish, ' +
        'endToEnd, review, each value the typical target and that of the 95th percentile, such as 15000-30000: ' +
        'for review 1 to 365 business days, for the others ms out of ' +
        `5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 15000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000, 86400000, got '${SUBMISSION_SLA}'`,
    ]);
  });
});

describe('where skills may be submitted from', () => {
  it('is github.com, and neither private addresses nor folders of this machine', () => {
    expect(settingsWith({ NODE_ENV: 'production' })).toMatchObject({
      address: { hosts: ['github.com'], allowPrivate: false, allowLocal: false },
    });
  });

  it('takes hosts with their ports, and vendors with their hosts', () => {
    const { address, vendors } = settingsWith({
      SUBMISSION_HOSTS: 'github.com, git.example.com:8443,[::1]:3000',
      SUBMISSION_VENDORS: 'openai,git.example.com/team',
    });
    expect(address.hosts).toEqual(['github.com', 'git.example.com:8443', '[::1]:3000']);
    expect(vendors).toEqual(['openai', 'git.example.com/team']);
    expect(problemsOf({ SUBMISSION_HOSTS: 'https://github.com' })).toHaveLength(1);
    expect(problemsOf({ SUBMISSION_VENDORS: 'open ai' })).toHaveLength(1);
  });

  it("opens this machine's folders by itself only where everything runs on it for whoever sits there", () => {
    const opens = (given: Record<string, string>) => settingsWith(given).address.allowLocal;
    expect(opens({})).toBe(true);
    expect(opens({ SUBMISSION_ALLOW_LOCAL: 'false' })).toBe(false);
    expect(opens({ HOST: '0.0.0.0' })).toBe(false);
    expect(opens({ NODE_ENV: 'test' })).toBe(false);
    expect(opens({ DATABASE_URL: 'postgresql://u:p@db.example.com/unstuck' })).toBe(false);
  });

  it("opens this machine's folders to nobody but itself", () => {
    const SUBMISSION_ALLOW_LOCAL = 'true';
    expect(problemsOf({ SUBMISSION_ALLOW_LOCAL })).toEqual([]);
    expect(problemsOf({ SUBMISSION_ALLOW_LOCAL, HOST: '0.0.0.0' })).toEqual([
      expect.stringMatching(/^HOST: expected this machine alone beside SUBMISSION_ALLOW_LOCAL=true/),
    ]);
    expect(problemsOf({ SUBMISSION_ALLOW_LOCAL, NODE_ENV: 'production' })).toEqual([
      expect.stringMatching(/^SUBMISSION_ALLOW_LOCAL: expected false in production/),
    ]);
  });
});

describe('the judge of skills', () => {
  const key = 'sk-never-shown';

  it('is the built-in rules unless a model is named', () => {
    expect(settingsWith({}).judge).toBeNull();
  });

  it('approves nothing by rules alone unless that is asked for', () => {
    expect(settingsWith({}).mayRulesApprove).toBe(false);
    expect(settingsWith({ JUDGE_RULES_MAY_APPROVE: 'true' }).mayRulesApprove).toBe(true);
    expect(problemsOf({ JUDGE_RULES_MAY_APPROVE: 'yes' })).toHaveLength(1);
  });

  it('is a model of Anthropic, at their own address unless another is named', () => {
    const given = { JUDGE_PROVIDER: 'anthropic', JUDGE_API_KEY: key, JUDGE_MODEL: 'claude' };

    expect(settingsWith(given).judge).toEqual({
      provider: 'anthropic',
      url: 'https://api.anthropic.com/v1',
      apiKey: key,
      model: 'claude',
      timeoutMs: 60_000,
    });
  });

  it('is a model of a server of one’s own, with or without a key', () => {
    const given = { JUDGE_PROVIDER: 'openai-compatible', JUDGE_URL: 'http://127.0.0.1:11434/v1', JUDGE_MODEL: 'llama' };

    expect(settingsWith({ ...given, JUDGE_ANSWER_FORMAT: 'none', JUDGE_TIMEOUT_MS: '5000' }).judge).toEqual({
      provider: 'openai-compatible',
      url: 'http://127.0.0.1:11434/v1',
      apiKey: undefined,
      answerFormat: 'none',
      model: 'llama',
      timeoutMs: 5_000,
    });
  });

  it('is given no more time than its stage has', () => {
    expect(problemsOf({ JUDGE_TIMEOUT_MS: '110000' })).toEqual([]);
    expect(problemsOf({ JUDGE_TIMEOUT_MS: '110001' })).toEqual([
      expect.stringMatching(/^JUDGE_TIMEOUT_MS: expected .*110000/) as string,
    ]);
  });

  it.each([
    ['http://judge.example/v1', 1],
    ['http://127.0.0.1.example/v1', 1],
    ['http://localhost:8000/v1', 0],
    ['http://[::1]:8000/v1', 0],
    ['https://judge.example/v1', 0],
  ])('does not send the key in the clear: %s', (JUDGE_URL, problems) => {
    const given = { JUDGE_PROVIDER: 'openai-compatible', JUDGE_MODEL: 'm', JUDGE_URL };

    expect(problemsOf({ ...given, JUDGE_API_KEY: key })).toHaveLength(problems);
    expect(problemsOf(given)).toEqual([]);
  });

  it.each([
    [{ JUDGE_API_KEY: key }, 'JUDGE_PROVIDER: expected beside JUDGE_API_KEY, so that a model is asked, got none'],
    [
      { JUDGE_PROVIDER: 'anthropic', JUDGE_MODEL: 'm' },
      'JUDGE_API_KEY: expected with JUDGE_PROVIDER=anthropic, got none',
    ],
    [
      { JUDGE_PROVIDER: 'openai-compatible', JUDGE_MODEL: 'm' },
      'JUDGE_URL: expected with JUDGE_PROVIDER=openai-compatible, got none',
    ],
    [
      { JUDGE_PROVIDER: 'anthropic', JUDGE_API_KEY: key },
      'JUDGE_MODEL: expected with JUDGE_PROVIDER=anthropic, got none',
    ],
    [{ JUDGE_PROVIDER: 'magic' }, "JUDGE_PROVIDER: expected one of openai-compatible, anthropic, got 'magic'"],
    [{ JUDGE_MODEL: 'rules-v1' }, "JUDGE_MODEL: expected the name of a model, got 'rules-v1'"],
    [{ JUDGE_URL: 'ftp://x' }, "JUDGE_URL: expected a URL that starts with https:// or http://, got 'ftp://x'"],
  ])('is not set up by half or wrongly: %o', (given, problem) => {
    expect(problemsOf(given as Record<string, string>)).toEqual([problem]);
  });
});

describe('the limits of fetching and scanning', () => {
  it('are those of the specification, and can be set', () => {
    expect(settingsWith({})).toMatchObject({
      fetch: { timeoutMs: 60_000, maxBytes: 512_000, maxFiles: 500 },
      scan: { timeoutMs: 10_000, maxBytes: 1_024 ** 3 },
    });
    const set = {
      ...{ SUBMISSION_MAX_BYTES: '2048', SUBMISSION_MAX_FILES: '7' },
      ...{ SUBMISSION_SCAN_TIMEOUT_MS: '5000', SUBMISSION_SCAN_MEMORY_MB: '512' },
    };
    expect(settingsWith(set)).toMatchObject({
      fetch: { maxBytes: 2_048, maxFiles: 7 },
      scan: { timeoutMs: 5_000, maxBytes: 512 * 1_024 ** 2 },
    });
  });

  it('do not let through what the scan refuses', () => {
    expect(problemsOf({ SUBMISSION_MAX_FILES: '501' })).toEqual([
      "SUBMISSION_MAX_FILES: expected a whole number from 1 to 500, got '501'",
    ]);
  });
});
