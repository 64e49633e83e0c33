import type { JobPart } from '../../../ports/job.js';
import type { SubmissionSettings } from '../settings.js';

/** Each has a queue of its own: servers that hang, or a statement that takes long, must delay no other job. */
export const submissionJobs: readonly JobPart<SubmissionSettings>[] = [
  {
    name: 'stats-refresh',
    queue: 'stats',
    schedule: ({ jobs }) => ({ when: { every: jobs.statsEvery }, input: {} }),
    async create({ pool }, { sla }) {
      const { aggregatesFor, createStatsPage } = await import('../activities/jobs/stats.js');
      return createStatsPage(pool, aggregatesFor(sla));
    },
  },
  {
    name: 'discover-npm',
    queue: 'discovery',
    schedule: ({
      jobs: {
        discovery: { every, keyword, perRun },
      },
    }) => ({
      when: { every },
      input: { keyword: keyword ?? '', perRun },
      isOn: keyword !== null,
    }),
    async create({ pool, pipelines, logger }, settings) {
      const { createDiscoveryPage } = await import('../activities/jobs/discovery.js');
      const { submitFound } = await import('../db/submit-found.js');
      const submit = submitFound(pipelines['submission'], settings);
      return createDiscoveryPage({ pool, submit, logger, ...(await createSources(settings.sources)) });
    },
  },
  {
    name: 'enrich-skills',
    queue: 'enrichment',
    schedule: ({
      jobs: {
        enrichment: { every, isOn, perRun },
      },
    }) => ({ when: { every }, input: { perRun }, isOn }),
    async create({ pool }, { sources }) {
      const { createEnrichmentPage } = await import('../activities/jobs/enrichment.js');
      return createEnrichmentPage({ pool, ...(await createSources(sources)) });
    },
  },
];

async function createSources({
  npmUrl,
  downloadsUrl,
  githubUrl,
  githubToken,
  ...limits
}: SubmissionSettings['sources']) {
  const { createNpmIndex } = await import('../adapters/package-index-npm.js');
  const { createGitHubHost } = await import('../adapters/repository-host-github.js');
  return {
    packages: createNpmIndex({ registryUrl: npmUrl, downloadsUrl, ...limits }),
    host: createGitHubHost({ apiUrl: githubUrl, token: githubToken, ...limits }),
  };
}
