/** What came of a version of a package. `unreachable` is tried again after a day, the others are final. */
export const PACKAGE_OUTCOMES = ['submitted', 'known', 'refused', 'no_repository', 'no_skill', 'unreachable'] as const;
export type PackageOutcome = (typeof PACKAGE_OUTCOMES)[number];

export interface DiscoverPageInput {
  keyword: string;
  from: number;
  /** Versions of packages that may be examined. */
  budget: number;
}

/** What one page did, added up by the workflow. */
export interface DiscoverPage {
  /** Packages that the registry showed. */
  seen: number;
  examined: number;
  byOutcome: Partial<Record<PackageOutcome, number>>;
  /** Submissions that were made. */
  submitted: number;
  errors: string[];
  /** Where to go on; null: nothing is left, or a server asked to be left alone. */
  next: number | null;
}

export interface DiscoveryActivities {
  discoverPage(input: DiscoverPageInput): Promise<DiscoverPage>;
}

export interface EnrichPage {
  examined: number;
  known: number;
  errors: string[];
  isLast: boolean;
}

export interface EnrichmentActivities {
  /** Skills that were last asked about before `startedAt`, at most `budget` of them. */
  enrichPage(input: { startedAt: string; budget: number }): Promise<EnrichPage>;
}

/** Skills of one repository that are submitted: a collection that has more is submitted by a person. */
const MAX_SKILLS = 10;

export interface FoundSkill {
  repoUrl: string;
  skillName: string;
  skillPath: string;
}

/** The skills in a repository's folders: each is named like its folder, the one at the root like the repository. */
export function skillsIn(repoUrl: string, folders: readonly string[]): FoundSkill[] {
  const repository = repoUrl.split('/').at(-1) ?? '';
  return [...folders]
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
    .slice(0, MAX_SKILLS)
    .map((folder) => ({
      repoUrl,
      skillName: folder === '' ? repository : (folder.split('/').at(-1) ?? ''),
      skillPath: folder === '' ? '.' : folder,
    }));
}
