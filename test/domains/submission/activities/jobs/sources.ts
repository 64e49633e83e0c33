import { AppError } from '../../../../../src/core/errors.js';
import type { FoundPackage, PackageIndex } from '../../../../../src/domains/submission/ports/package-index.js';
import type { RepositoryFacts, RepositoryHost } from '../../../../../src/domains/submission/ports/repository-host.js';

/** A registry and a host that say what a test tells them; an error among the answers is thrown. */
export interface FakeSources {
  packages: PackageIndex;
  host: RepositoryHost;
  found: FoundPackage[];
  folders: Record<string, readonly string[] | Error | null>;
  facts: Record<string, RepositoryFacts | Error | null>;
  downloads: Record<string, number | Error>;
  /** Set: the registry says this instead of an answer. */
  failure: Error | null;
  asked: string[];
}

const PAGE = 100;

export function createFakeSources(): FakeSources {
  const sources: FakeSources = {
    ...{ found: [], folders: {}, facts: {}, downloads: {}, failure: null, asked: [] },
    packages: {
      async search(keyword, from) {
        sources.asked.push(`search ${keyword} ${String(from)}`);
        if (sources.failure) throw sources.failure;
        const next = from + PAGE < sources.found.length ? from + PAGE : null;
        return { packages: sources.found.slice(from, from + PAGE), next };
      },
      async downloadsOf(name) {
        sources.asked.push(`downloads ${name}`);
        return orThrow(sources.downloads[name] ?? null);
      },
    },
    host: {
      addressOf: (written) => (written.startsWith('https://github.com/') ? written.toLowerCase() : null),
      async listSkillFolders(repoUrl) {
        sources.asked.push(`folders ${repoUrl}`);
        return orThrow(sources.folders[repoUrl] ?? null);
      },
      async findFacts(repoUrl) {
        sources.asked.push(`facts ${repoUrl}`);
        return orThrow(sources.facts[repoUrl] ?? null);
      },
    },
  };
  return sources;
}

function orThrow<T>(answer: T | Error): T {
  if (answer instanceof Error) throw answer;
  return answer;
}

export function packageOf(name: string, version = '1.0.0'): FoundPackage {
  return { name, version, repository: repositoryOf(name) };
}

export function repositoryOf(name: string): string {
  return `https://github.com/ada/${name}`;
}

export const BROKEN = new AppError('source_unavailable', 'github answered 500');

export function busyFor(seconds: number): AppError {
  return new AppError('source_unavailable', 'it answered 429', { facts: { retryAfterMs: seconds * 1_000 } });
}
