/** The result of examining one version of a package. `unreachable` is tried again after a day; the other outcomes are
 *  final. */
export const PACKAGE_OUTCOMES = ['submitted', 'known', 'refused', 'no_repository', 'no_skill', 'unreachable'] as const;
export type PackageOutcome = (typeof PACKAGE_OUTCOMES)[number];

export interface DiscoverPageInput {
  keyword: string;
  from: number;
  /** The number of package versions that this page may examine. */
  budget: number;
}

/** The counts of one page. */
export interface DiscoverPage {
  /** Packages that the registry showed. */
  seen: number;
  examined: number;
  byOutcome: Partial<Record<PackageOutcome, number>>;
  /** The number of submissions that were created. */
  submitted: number;
  errors: string[];
  /** Where the next page begins. Null: no package is left, or a server asked for a pause. */
  next: number | null;
  /** A server asked for a pause or did not answer, so that packages may be left. */
  isStopped: boolean;
}

export interface EnrichPage {
  examined: number;
  known: number;
  errors: string[];
  isLast: boolean;
  /** A server asked for a pause, so that skills are left. */
  isStopped: boolean;
}

/** The most skills of one repository that discovery submits. A person has to submit a larger collection. */
const MAX_SKILLS = 10;

export interface FoundSkill {
  repoUrl: string;
  skillName: string;
  skillPath: string;
}

/** The skills in a repository's folders. A skill is named like its folder, and a skill at the root like the
 *  repository. */
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
