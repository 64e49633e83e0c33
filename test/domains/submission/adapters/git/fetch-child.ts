import { createGitSkillSource } from '../../../../../src/domains/submission/adapters/git/skill-source-git.js';

/** Fetches in a process of its own, and tells its parent the result and the memory that it took. */
const { TEST_REPO_URL: repoUrl = '', TEST_SCRATCH: temporaryFolder = '' } = process.env;

process.on('disconnect', () => process.exit(1));

const source = createGitSkillSource({
  hosts: ['127.0.0.1'],
  allowPrivate: true,
  allowLocal: false,
  temporaryFolder,
  // The parent has a time limit of its own.
  timeoutMs: 600_000,
});
const before = process.memoryUsage().rss;
const outcome = await source.fetch({ repoUrl, skillName: 'greet' }, new AbortController().signal).then(
  () => 'fetched',
  (error: unknown) => (error instanceof Error ? error.message : 'failed'),
);
const most = process.resourceUsage().maxRSS * 1_024;
process.send?.({ outcome, grownBytes: most - before });
