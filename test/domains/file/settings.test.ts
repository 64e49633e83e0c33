import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/config.js';
import { loadConfig } from '../../../src/start/parts/from-domains.js';
import { pipelinesOf } from '../../../src/start/parts/pipelines.js';

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('the names that operators of uploads know', () => {
  it('set the thresholds of the pipeline', () => {
    const { file } = pipelinesOf(
      loadConfig({
        STUCK_FILE_THRESHOLD_MS: '1200000',
        MAX_STUCK_RETRIES: '5',
        STUCK_RECOVERY_SCHEDULE: '*/5 * * * *',
      }),
    );

    expect(file?.sweep).toMatchObject({ every: '5m', stuckAfter: '1200000ms' });
    expect(file?.rescue.budget).toBe(5);
  });

  it('are the names in the problems that their values cause', () => {
    const [unfit, ...more] = problemsOf({ STUCK_FILE_THRESHOLD_MS: '60000' });

    expect(more).toEqual([]);
    expect(unfit).toMatch(
      /^STUCK_FILE_THRESHOLD_MS: expected to agree with the other limits .* stuck before it is stale/,
    );
  });

  it.each([
    [
      { STUCK_FILE_THRESHOLD_MS: 'soon' },
      "STUCK_FILE_THRESHOLD_MS: expected a whole number from 1000 to 86400000, got 'soon'",
    ],
    [{ MAX_STUCK_RETRIES: '-1' }, "MAX_STUCK_RETRIES: expected a whole number from 0 to 1000, got '-1'"],
    [
      { STUCK_RECOVERY_SCHEDULE: '*/7 * * * *' },
      "STUCK_RECOVERY_SCHEDULE: expected a cron expression such as */15 * * * * (every 15 minutes) or 0 */2 * * * (every two hours), got '*/7 * * * *'",
    ],
    [
      { MAX_STUCK_RETRIES: '3', FILE_RESCUE_BUDGET: '4' },
      'MAX_STUCK_RETRIES: expected without FILE_RESCUE_BUDGET, which sets the same, got both',
    ],
  ])('are refused with a sentence: %o', (environment, problem) => {
    expect(problemsOf(environment)).toEqual([problem]);
  });
});

describe('the threshold of abandoned uploads', () => {
  it('is refused below the time for which a batch takes bytes', () => {
    expect(problemsOf({ BATCH_TIMEOUT_MS: '172800000' })).toEqual([
      'ABANDONED_UPLOAD_THRESHOLD_MS: expected at least BATCH_TIMEOUT_MS, 172800000, because a batch takes bytes for so long, got 86400000',
    ]);
    expect(problemsOf({ BATCH_TIMEOUT_MS: '172800000', ABANDONED_UPLOAD_THRESHOLD_MS: '172800000' })).toEqual([]);
  });
});
