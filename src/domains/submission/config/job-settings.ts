import { z } from 'zod';
import { msOf } from '../../../core/span.js';
import { isPrivateWay } from '../../../config/private-way.js';
import { intervalText, keptText, oneOf, text, webUrl, whole } from '../../../config/values.js';

/** Statistics, discovery, enrichment and retention, and the servers that discovery and enrichment ask. */
export const jobVariables = {
  STATS_EVERY: intervalText.default('5m'),
  DISCOVER_NPM_KEYWORD: text('a keyword of npm packages', (value) => /^[\w.@/-]{1,100}$/.test(value)).optional(),
  DISCOVER_EVERY: intervalText.default('1h'),
  // With as many questions for enrichment, below the sixty an hour that GitHub answers without a token.
  DISCOVER_MAX_PER_RUN: whole(1, 1_000).default(20),
  ENRICH_SKILLS: oneOf('true', 'false').default('false'),
  ENRICH_EVERY: intervalText.default('1h'),
  ENRICH_MAX_PER_RUN: whole(1, 1_000).default(20),
  NPM_REGISTRY_URL: webUrl.default('https://registry.npmjs.org'),
  NPM_DOWNLOADS_URL: webUrl.default('https://api.npmjs.org'),
  GITHUB_API_URL: webUrl.default('https://api.github.com'),
  GITHUB_TOKEN: z.string().optional(),
  SOURCES_ALLOW_PRIVATE: oneOf('true', 'false').default('false'),
  // Public servers answer within a second or two; a request that takes longer hangs.
  SOURCES_TIMEOUT_MS: whole(100, 60_000).default(10_000),
  // As long as receipts: a verdict that is questioned can be looked into for a quarter of a year.
  SKILL_CONTENTS_KEPT: keptText.default('90d'),
  DISCOVERED_PACKAGES_KEPT: keptText.default('90d'),
};

type Given = z.output<z.ZodObject<typeof jobVariables>>;

export function jobsOf(given: Given) {
  return {
    statsEvery: given.STATS_EVERY,
    discovery: {
      every: given.DISCOVER_EVERY,
      keyword: given.DISCOVER_NPM_KEYWORD ?? null,
      perRun: given.DISCOVER_MAX_PER_RUN,
    },
    enrichment: { every: given.ENRICH_EVERY, isOn: given.ENRICH_SKILLS === 'true', perRun: given.ENRICH_MAX_PER_RUN },
  };
}

export function keptOf(given: Given) {
  return {
    skillContentsMs: msOf(given.SKILL_CONTENTS_KEPT),
    discoveredPackagesMs: msOf(given.DISCOVERED_PACKAGES_KEPT),
  };
}

/** The servers that discovery and enrichment ask. */
export function sourcesOf(given: Given) {
  return {
    npmUrl: given.NPM_REGISTRY_URL,
    downloadsUrl: given.NPM_DOWNLOADS_URL,
    githubUrl: given.GITHUB_API_URL,
    githubToken: given.GITHUB_TOKEN,
    allowPrivate: given.SOURCES_ALLOW_PRIVATE === 'true',
    timeoutMs: given.SOURCES_TIMEOUT_MS,
  };
}

export function bareTokenIn({ GITHUB_TOKEN, GITHUB_API_URL }: Given): string[] {
  if (GITHUB_TOKEN === undefined || isPrivateWay(GITHUB_API_URL)) return [];
  return ['GITHUB_API_URL: expected https:// beside GITHUB_TOKEN, or this machine, so that nobody reads the token'];
}
