import { describe, expect, it } from 'vitest';
import { schedulesOf } from '../../../src/core/schedules.js';
import { submissionDomain } from '../../../src/domains/submission/domain.js';
import { submission } from '../../../src/domains/submission/table.js';
import { loadConfig } from '../../../src/start/parts/from-domains.js';
import { scheduledJobsOf } from '../../../src/start/parts/jobs.js';

/** The domain's schedules in an installation with these settings, and whether each is on. */
function schedulesWith(environment: Record<string, string>): [id: string, isOn: boolean][] {
  const config = loadConfig(environment);
  const own = new Set(submissionDomain.jobs?.map(({ name }) => name));
  const jobs = scheduledJobsOf(config).filter(({ name }) => own.has(name));
  return schedulesOf({ submission }, jobs, config.schedules).map(({ id, isOn }) => [id, isOn]);
}

describe('the schedules of submissions', () => {
  it('sweep and refresh figures where nothing is set, and ask no other server', () => {
    expect(schedulesWith({})).toEqual([
      ['sweep-submission', true],
      ['stats-refresh', true],
      ['discover-npm', false],
      ['enrich-skills', false],
    ]);
  });

  it('discover and enrich where that is asked for', () => {
    const isOn = Object.fromEntries(schedulesWith({ DISCOVER_NPM_KEYWORD: 'skill', ENRICH_SKILLS: 'true' }));
    expect(isOn).toMatchObject({ 'discover-npm': true, 'enrich-skills': true });
  });
});

it('has the doctor look for git and for the judge', () => {
  expect(submissionDomain.checks?.map(({ name }) => name)).toEqual(['git', 'judge']);
});
