import type pg from 'pg';
import type { Logger } from 'pino';
import { z } from 'zod';
import {
  type DiscoverPage,
  type DiscoverPageInput,
  type FoundSkill,
  type PackageOutcome,
  skillsIn,
} from '../../core/address/discovery.js';
import { isAppError } from '../../../../core/errors.js';
import type { JobCursor } from '../../../../core/jobs.js';
import { inTransaction } from '../../../../db/postgres/client.js';
import { listFresh, settlePackage, storeOutcome } from '../../db/discovered-packages.js';
import type { FoundPackage, PackageIndex } from '../../ports/package-index.js';
import type { RepositoryHost } from '../../ports/repository-host.js';
import type { JobPage, PageContext } from '../../../../ports/job.js';
import type { Sql } from '../../../../ports/sql.js';
import { askSource, sentenceOf, SourceWaits } from './ask-source.js';

/** `known`: the skill is on its way already. `refused`: skills from this address are not taken. */
export type Submit = (
  transaction: Sql,
  skill: FoundSkill,
  from: { package: string; version: string },
) => Promise<'submitted' | 'known' | 'refused'>;

export interface DiscoveryDeps {
  pool: pg.Pool;
  packages: PackageIndex;
  host: RepositoryHost;
  submit: Submit;
  logger: Logger;
}

/** `perRun`: versions of packages that one run examines at most. */
const Input = z.object({ keyword: z.string(), perRun: z.int() });

/** The place of a run: when the run began, its place in the registry's list, and its counts so far. */
const Place = z.object({ run: z.string(), from: z.int(), examined: z.int(), asked: z.int() });
const START = { from: 0, examined: 0, asked: 0 };

/** Packages that one page examines. A worker that dies in a page loses little work. */
const PER_PAGE = 5;

/** Pages of the registry's list that one run asks for, so that the run also ends with a keyword that very many packages
 *  use. */
const MAX_PAGES = 30;

/** The job that finds packages with a keyword and submits their skills. */
export function createDiscoveryPage(deps: DiscoveryDeps): JobPage {
  return async ({ input, cursor, atMost, startedAt, signal, beat }) => {
    const { keyword, perRun } = Input.parse(input);
    const run = startedAt.toISOString();
    const { from, examined, asked } = placeOf(cursor, run);
    const budget = Math.min(PER_PAGE, perRun - examined, atMost ?? PER_PAGE);
    const found = await discoverPage(deps, { keyword, from, budget }, { signal, beat });
    const { next, errors, isStopped, ...counts } = found;
    const place = { run, from: next ?? 0, examined: examined + counts.examined, asked: asked + 1 };
    const isSpent = place.examined >= perRun || place.asked >= MAX_PAGES;
    const isIdle = counts.examined === 0 && errors.length === 0;
    const did = { counts, errors, isIdle, done: counts.examined };
    const isWhole = next === null && !isStopped;
    return next === null || isSpent ? { ...did, last: true, isWhole } : { ...did, next: place };
  };
}

/** A run that goes on where another run stopped has an allowance of its own. */
function placeOf(cursor: JobCursor, run: string): Omit<z.output<typeof Place>, 'run'> {
  if (cursor === null) return START;
  const place = Place.parse(cursor);
  return place.run === run ? place : { ...START, from: place.from };
}

/** The means of a page to speak with its runner. */
type Watch = Pick<PageContext, 'signal' | 'beat'>;

/** One page of the registry, of which as many versions as the budget allows are examined. The rest of the page comes next. */
export async function discoverPage(
  deps: DiscoveryDeps,
  { keyword, from, budget }: DiscoverPageInput,
  { signal, beat }: Watch,
): Promise<DiscoverPage> {
  const page: DiscoverPage = {
    seen: 0,
    examined: 0,
    byOutcome: {},
    submitted: 0,
    errors: [],
    next: null,
    isStopped: false,
  };
  try {
    const found = await askSource(deps.pool, 'npm', () => deps.packages.search(keyword, from, signal));
    const fresh = await listFresh(deps.pool, found.packages);
    page.seen = found.packages.length;
    for (const each of fresh.slice(0, budget)) {
      beat();
      await examine(deps, each, page, signal);
    }
    page.next = fresh.length > budget ? from : found.next;
  } catch (error) {
    if (signal.aborted || !isOfSource(error)) throw error;
    page.errors.push(sentenceOf(error));
    page.isStopped = true;
  }
  if (page.submitted > 0) deps.logger.info({ submitted: page.submitted, keyword }, 'skills discovered');
  return page;
}

/** A bad package never stops the page. Only a server that wants to be left alone does. */
async function examine(deps: DiscoveryDeps, found: FoundPackage, page: DiscoverPage, signal: AbortSignal) {
  const repoUrl = found.repository === null ? null : deps.host.addressOf(found.repository);
  let outcome: PackageOutcome | null;
  try {
    const skills = repoUrl === null ? null : await findSkills(deps, repoUrl, signal);
    outcome = await settle(deps, found, { repoUrl, skills, page });
  } catch (error) {
    if (signal.aborted || error instanceof SourceWaits) throw error;
    page.errors.push(`${found.name}: ${sentenceOf(error)}`);
    const settled = await settlePackage(deps.pool, found, { repoUrl, outcome: 'unreachable' });
    outcome = settled ? 'unreachable' : null;
  }
  page.examined += 1;
  if (outcome) page.byOutcome[outcome] = (page.byOutcome[outcome] ?? 0) + 1;
}

async function findSkills({ pool, host }: DiscoveryDeps, repoUrl: string, signal: AbortSignal): Promise<FoundSkill[]> {
  const folders = await askSource(pool, 'github', () => host.listSkillFolders(repoUrl, signal));
  return skillsIn(repoUrl, folders ?? []);
}

interface Examined {
  repoUrl: string | null;
  skills: readonly FoundSkill[] | null;
  page: DiscoverPage;
}

/** Settles the version in the transaction that submits its skills, so that no skill is submitted twice. Null: another
 *  run has settled the version meanwhile. */
async function settle(deps: DiscoveryDeps, found: FoundPackage, examined: Examined): Promise<PackageOutcome | null> {
  const { repoUrl, skills, page } = examined;
  return inTransaction(deps.pool, async (transaction) => {
    const outcome = outcomeOf(repoUrl, skills);
    if (!(await settlePackage(transaction, found, { repoUrl, outcome }))) return null;
    const from = { package: found.name, version: found.version };
    const results: string[] = [];
    for (const skill of sortByKey(skills ?? [])) results.push(await deps.submit(transaction, skill, from));
    const submitted = results.filter((each) => each === 'submitted').length;
    page.submitted += submitted;
    if (outcome !== 'submitted' || submitted > 0) return outcome;
    const inTheEnd = results.includes('known') ? 'known' : 'refused';
    await storeOutcome(transaction, found, inTheEnd);
    return inTheEnd;
  });
}

/** Sorts as a bulk submission does: two transactions that submit the same skills at once must not wait for each other.
 *  The keys of the skills of one repository differ by the name alone. */
function sortByKey(skills: readonly FoundSkill[]): FoundSkill[] {
  const keyOf = ({ skillName }: FoundSkill) => skillName.toLowerCase();
  return skills.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

function outcomeOf(repoUrl: string | null, skills: Examined['skills']): PackageOutcome {
  if (repoUrl === null) return 'no_repository';
  return skills === null || skills.length === 0 ? 'no_skill' : 'submitted';
}

function isOfSource(error: unknown): boolean {
  return error instanceof SourceWaits || (isAppError(error) && error.code === 'source_unavailable');
}
