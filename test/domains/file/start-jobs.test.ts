import { describe, expect, it } from 'vitest';
import { jobQueueOf } from '../../../src/core/jobs.js';
import { schedulesOf } from '../../../src/core/schedules.js';
import { fileDomain } from '../../../src/domains/file/domain.js';
import { loadConfig } from '../../../src/start/parts/from-domains.js';
import { scheduledJobsOf } from '../../../src/start/parts/jobs.js';

function schedulesWith(environment: Record<string, string> = {}) {
  const config = loadConfig(environment);
  const own = new Set(fileDomain.jobs?.map(({ name }) => name));
  const jobs = scheduledJobsOf(config).filter(({ name }) => own.has(name));
  return Object.fromEntries(schedulesOf({}, jobs, config.schedules).map(({ id, when }) => [id, when]));
}

describe('the schedules of files', () => {
  it('clean up daily at 03:00, expire batches hourly, and finish deletions each minute', () => {
    expect(schedulesWith()).toEqual({
      'orphan-cleanup': { dailyAt: '03:00' },
      'batch-timeout': { every: '1h' },
      'file-deletion': { every: '1m' },
    });
  });

  it('are set by cron texts', () => {
    const set = schedulesWith({ ORPHAN_CLEANUP_SCHEDULE: '30 4 * * *', BATCH_TIMEOUT_SCHEDULE: '*/10 * * * *' });
    expect(set).toMatchObject({ 'orphan-cleanup': { dailyAt: '04:30' }, 'batch-timeout': { every: '10m' } });
  });

  it.each(['* * * * *', '0 3 * * 1', '61 3 * * *', 'daily', '*/90 * * * *'])(
    'refuse %s, and say what is expected',
    (text) => {
      expect(() => loadConfig({ ORPHAN_CLEANUP_SCHEDULE: text })).toThrow(
        /ORPHAN_CLEANUP_SCHEDULE: expected a cron expression such as/,
      );
    },
  );

  it('run on a queue of their own', () => {
    expect(fileDomain.jobs?.map(jobQueueOf)).toEqual(['jobs-files', 'jobs-files', 'jobs-files']);
  });
});
