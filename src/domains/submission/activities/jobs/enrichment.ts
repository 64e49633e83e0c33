import type pg from 'pg';
import { z } from 'zod';
import type { JobCursor } from '../../../../core/jobs.js';
import type { EnrichPage } from '../../core/address/discovery.js';
import { listPackagesOf } from '../../db/discovered-packages.js';
import { type AskedSkill, listToEnrich, type SkillFacts, storeFacts, storeFailure } from '../../db/skill-facts.js';
import type { PackageIndex } from '../../ports/package-index.js';
import type { RepositoryHost } from '../../ports/repository-host.js';
import type { JobPage, PageContext } from '../../../../ports/job.js';
import { askSource, sentenceOf, SourceWaits } from './ask-source.js';

export interface EnrichmentDeps {
  pool: pg.Pool;
  packages: PackageIndex;
  host: RepositoryHost;
}

/** Packages of one repository whose downloads are added up. */
const MAX_PACKAGES = 3;

/** `perRun`: skills that one run asks about at most. */
const Input = z.object({ perRun: z.int() });

/** When the run began, and how many skills it has asked about before this page. */
const Place = z.object({ run: z.string(), examined: z.int() });

/** Skills that one page asks about. A worker that dies in a page loses little work. */
const PER_PAGE = 5;

/** The job that reads stars and downloads of published skills. The skills whose facts are oldest come first. */
export function createEnrichmentPage(deps: EnrichmentDeps): JobPage {
  return async ({ input, cursor, atMost, startedAt, signal, beat }) => {
    const { perRun } = Input.parse(input);
    const run = startedAt.toISOString();
    const before = examinedIn(cursor, run);
    const budget = Math.min(PER_PAGE, perRun - before, atMost ?? PER_PAGE);
    const page = await enrichPage(deps, { startedAt: run, budget }, { signal, beat });
    const { isLast, isStopped, errors, ...counts } = page;
    const examined = before + counts.examined;
    const did = { counts, errors, done: counts.examined };
    if (isStopped) return { ...did, last: true, isWhole: false };
    return isLast || examined >= perRun ? { ...did, last: true, isWhole: isLast } : { ...did, next: { run, examined } };
  };
}

/** A run that goes on where another run stopped has an allowance of its own. */
function examinedIn(cursor: JobCursor, run: string): number {
  const place = cursor === null ? null : Place.parse(cursor);
  return place?.run === run ? place.examined : 0;
}

export async function enrichPage(
  deps: EnrichmentDeps,
  { startedAt, budget }: { startedAt: string; budget: number },
  { signal, beat }: Pick<PageContext, 'signal' | 'beat'>,
): Promise<EnrichPage> {
  const skills = await listToEnrich(deps.pool, startedAt, budget);
  const page: EnrichPage = { examined: 0, known: 0, errors: [], isLast: skills.length < budget, isStopped: false };
  for (const skill of skills) {
    beat();
    try {
      await enrich(deps, skill, page, signal);
    } catch (error) {
      if (!(error instanceof SourceWaits)) throw error;
      page.errors.push(error.message);
      page.isStopped = true;
      break;
    }
  }
  return page;
}

/** A skill whose facts can't be read keeps its old facts, and comes last in the next run. */
async function enrich(deps: EnrichmentDeps, skill: AskedSkill, page: EnrichPage, signal: AbortSignal): Promise<void> {
  try {
    const facts = await factsOf(deps, skill, signal);
    await storeFacts(deps.pool, skill.id, facts);
    if (facts.stars !== null || facts.downloads !== null) page.known += 1;
  } catch (error) {
    if (signal.aborted || error instanceof SourceWaits) throw error;
    page.errors.push(`${skill.repoUrl}: ${sentenceOf(error)}`);
    await storeFailure(deps.pool, skill.id, sentenceOf(error));
  }
  page.examined += 1;
}

async function factsOf(deps: EnrichmentDeps, { repoUrl }: AskedSkill, signal: AbortSignal): Promise<SkillFacts> {
  const { pool, host } = deps;
  const address = host.addressOf(repoUrl);
  if (address === null) return { stars: null, lastCommitAt: null, downloads: null };
  const facts = await askSource(pool, 'github', () => host.findFacts(address, signal));
  const downloads = await downloadsOf(deps, address, signal);
  return { stars: facts?.stars ?? null, lastCommitAt: facts?.lastCommitAt ?? null, downloads };
}

/** Null: no package of the repository is known, here or to the registry. */
async function downloadsOf({ pool, packages }: EnrichmentDeps, repoUrl: string, signal: AbortSignal) {
  const counts: number[] = [];
  for (const name of await listPackagesOf(pool, repoUrl, MAX_PACKAGES)) {
    const count = await askSource(pool, 'npm', () => packages.downloadsOf(name, signal));
    if (count !== null) counts.push(count);
  }
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}
